// data.mjs FILE: the data that every implementation is measured on, the same in each run.
import { writeFileSync } from 'node:fs';
import { encodeAbiParameters, encodeEventTopics, pad, toHex } from 'viem';

import { NESTED, TRANSFER } from './abi.mjs';

const COUNTS = { transfers: 4000, nested: 1000, calls: 4000, swaps: 2000, messages: 500, hashes: 200 };
const LENGTHS = [32, 136, 256, 512, 1024];

// A linear congruential generator (Knuth's MMIX): any numbers do, but the same in each run.
let state = 4711n;
function random(bits) {
	let value = 0n;
	for (let have = 0; have < bits; have += 32) {
		state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
		value = (value << 32n) | (state >> 32n);
	}
	return value & ((1n << BigInt(bits)) - 1n);
}
const below = (limit) => Number(random(32) % BigInt(limit));
const address = () => pad(toHex(random(160)), { size: 20 });
const bytes = (size) => (size === 0 ? '0x' : pad(toHex(random(8 * size)), { size }));
const list = (count, make) => Array.from({ length: count }, make);

function transfer() {
	const topics = encodeEventTopics({ abi: [TRANSFER], args: { from: address(), to: address() } });
	return { topics, data: encodeAbiParameters([{ type: 'uint256' }], [random(96)]) };
}

// Orders of items of legs: two levels of arrays of tuples, bytes and a string.
function order() {
	const id = bytes(32);
	const maker = address();
	const items = list(1 + below(3), () => ({
		token: address(),
		amount: random(96),
		legs: list(1 + below(3), () => ({ kind: below(256), data: bytes(below(80)) })),
	}));
	const topics = encodeEventTopics({ abi: [NESTED], args: { id, maker } });
	const data = encodeAbiParameters(NESTED.inputs.slice(2), [items, 'order '.repeat(below(12))]);
	return { topics, data };
}

const swap = () => ({
	tokenIn: address(), tokenOut: address(), fee: Number(random(24)), recipient: address(),
	deadline: random(40).toString(), amountIn: random(96).toString(),
	amountOutMinimum: random(96).toString(), sqrtPriceLimitX96: random(160).toString(),
});

writeFileSync(process.argv[2], JSON.stringify({
	transfers: list(COUNTS.transfers, transfer),
	nested: list(COUNTS.nested, order),
	calls: list(COUNTS.calls, () => ({ to: address(), amount: random(96).toString() })),
	swaps: list(COUNTS.swaps, swap),
	messages: Object.fromEntries(LENGTHS.map((n) => [n, list(COUNTS.messages, () => bytes(n))])),
	key: bytes(32),
	hashes: list(COUNTS.hashes, () => bytes(32)),
}));
