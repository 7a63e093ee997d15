// libraries.mjs viem|ethers DATA SECONDS: a line of JSON for each operation.
//
// Each operation is repeated over all of its data until SECONDS of processor time are spent, after as
// long a warm-up; "check" says what came out, so that nobody is measured doing something else.
import { readFileSync } from 'node:fs';
import { Interface, SigningKey, keccak256 as ethersKeccak, recoverAddress as ethersRecover } from 'ethers';
import { decodeEventLog, encodeFunctionData, hexToBytes, keccak256, recoverAddress } from 'viem';
import { sign } from 'viem/accounts';

import { CALL, NESTED, SWAP, TEXT, TRANSFER } from './abi.mjs';

const [library, file, seconds] = process.argv.slice(2);
const data = JSON.parse(readFileSync(file, 'utf8'));
const swaps = data.swaps.map((s) => ({
	...s, deadline: BigInt(s.deadline), amountIn: BigInt(s.amountIn),
	amountOutMinimum: BigInt(s.amountOutMinimum), sqrtPriceLimitX96: BigInt(s.sqrtPriceLimitX96),
}));
const calls = data.calls.map((c) => ({ to: c.to, amount: BigInt(c.amount) }));
const messages = Object.fromEntries(Object.entries(data.messages).map(([n, m]) => [n, m.map((x) => hexToBytes(x))]));
const event = new Interface([TEXT.transfer, TEXT.nested]);
const calling = new Interface([TEXT.call, TEXT.swap]);
const signingKey = new SigningKey(data.key);
const joined = (parts) => keccak256(`0x${parts.map((x) => x.slice(2)).join('')}`);
const parity = (signature) => (signature.yParity === 1 ? '01' : '00');

// What an implementation must make of the data, whatever its objects look like.
const sum = (values) => values.reduce((a, b) => a + b, 0n).toString();
const orders = (args) => `${sum(args.flatMap((a) => Array.from(a.items, (i) => i.amount)))} `
	+ args.flatMap((a) => Array.from(a.items).flatMap((i) => Array.from(i.legs, (l) => (l.data.length - 2) / 2)))
		.reduce((a, b) => a + b, 0);

const libraries = {
	viem: {
		decode_transfer: {
			input: data.transfers,
			run: (log) => decodeEventLog({ abi: [TRANSFER], topics: log.topics, data: log.data }).args,
			check: (args) => sum(args.map((a) => a.value)),
		},
		decode_nested: {
			input: data.nested,
			run: (log) => decodeEventLog({ abi: [NESTED], topics: log.topics, data: log.data }).args,
			check: orders,
		},
		encode_transfer: {
			input: calls,
			run: (c) => encodeFunctionData({ abi: [CALL], args: [c.to, c.amount] }),
			check: joined,
		},
		encode_swap: {
			input: swaps,
			run: (s) => encodeFunctionData({ abi: [SWAP], args: [s] }),
			check: joined,
		},
		keccak: { run: (m) => keccak256(m, 'hex'), check: joined },
		sign: {
			input: data.hashes,
			run: (hash) => sign({ hash, privateKey: data.key }),
			check: (s) => joined(s.map((x) => x.r + x.s.slice(2) + parity(x))),
		},
		recover: {
			input: null,
			run: ([hash, signature]) => recoverAddress({ hash, signature }),
			check: (a) => joined(a.map((x) => x.toLowerCase())),
		},
	},
	ethers: {
		decode_transfer: {
			input: data.transfers,
			run: (log) => event.parseLog(log).args,
			check: (args) => sum(args.map((a) => a.value)),
		},
		decode_nested: { input: data.nested, run: (log) => event.parseLog(log).args, check: orders },
		encode_transfer: {
			input: calls,
			run: (c) => calling.encodeFunctionData('transfer', [c.to, c.amount]),
			check: joined,
		},
		encode_swap: {
			input: swaps,
			run: (s) => calling.encodeFunctionData('exactInputSingle', [s]),
			check: joined,
		},
		keccak: { run: (m) => ethersKeccak(m), check: joined },
		sign: {
			input: data.hashes,
			run: (hash) => signingKey.sign(hash),
			check: (s) => joined(s.map((x) => x.r + x.s.slice(2) + parity(x))),
		},
		recover: {
			input: null,
			run: ([hash, signature]) => ethersRecover(hash, signature),
			check: (a) => joined(a.map((x) => x.toLowerCase())),
		},
	},
};

const cpu = () => { const t = process.cpuUsage(); return (t.user + t.system) / 1e6; };

// Some functions are asynchronous; only those are awaited.
async function measure(name, input, run, check) {
	const results = [];
	for (const x of input) results.push(await run(x));
	const waits = run(input[0]) instanceof Promise;
	let ops;
	for (const phase of ['warm-up', 'measured']) {
		const start = cpu();
		let count = 0;
		do {
			if (waits) for (const x of input) await run(x);
			else for (const x of input) run(x);
			count += input.length;
		} while (cpu() - start < Number(seconds));
		if (phase === 'measured') ops = count / (cpu() - start);
	}
	console.log(JSON.stringify({ implementation: library, operation: name, ops, check: check(results) }));
}

const operations = libraries[library];
const signatures = [];
for (const hash of data.hashes) signatures.push(await sign({ hash, privateKey: data.key, to: 'hex' }));
operations.recover.input = data.hashes.map((hash, i) => [hash, signatures[i]]);
for (const [name, { input, run, check }] of Object.entries(operations)) {
	if (name !== 'keccak') await measure(name, input, run, check);
	else for (const [n, m] of Object.entries(messages)) await measure(`keccak_${n}`, m, run, check);
}
