// viem.mjs URL KEY COUNT HOW: sends COUNT transfers of 1 wei in order, with local nonces, and waits for all of their receipts;
// prints {seconds, sent_seconds, blocks}.
//
// HOW is how it waits:
//   pipelined    for the answer to each eth_sendRawTransaction before the next one, then for the receipts
//   all_at_once  for nothing: all sends under way at once (Promise.all), then the receipts
//   batched      the same, over a transport that gathers calls into JSON-RPC batches
//   one_by_one   for the receipt of each before the next one
//
// Nothing is asked that a script could know: nonces are counted here, gas and fees are given, and what is signed goes out by
// eth_sendRawTransaction (sendTransaction would ask for the chain id each time).  Receipts are asked for in batches.
import { createPublicClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';

const [url, key, countText, how] = process.argv.slice(2);
const count = Number(countText);
const RECEIPTS_AT_ONCE = 256;
const PAUSE_MS = 4;

const account = privateKeyToAccount(key);
const client = createPublicClient({ chain: foundry, transport: http(url, { retryCount: 0 }), cacheTime: 0 });
const batching = createPublicClient({
	chain: foundry, transport: http(url, { retryCount: 0, batch: { batchSize: RECEIPTS_AT_ONCE } }), cacheTime: 0,
});
const pause = () => new Promise((resolve) => { setTimeout(resolve, PAUSE_MS); });

const first = await client.getTransactionCount({ address: account.address });
const sign = (index) => account.signTransaction({
	chainId: foundry.id, type: 'eip1559', nonce: first + index, to: '0x00000000000000000000000000000000005111c4', value: 1n, gas: 21000n,
	maxFeePerGas: 4_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n,
});
const send = async (through, index) => through.sendRawTransaction({ serializedTransaction: await sign(index) });
const receiptOf = (hash) => batching.getTransactionReceipt({ hash }).catch(() => null);

// In order, so many at once; those that have none yet are asked for again.
async function receipts(hashes) {
	const found = [];

	while (found.length < hashes.length) {
		const asked = hashes.slice(found.length, found.length + RECEIPTS_AT_ONCE);
		const answers = await Promise.all(asked.map(receiptOf));
		const missing = answers.indexOf(null);

		found.push(...(missing < 0 ? answers : answers.slice(0, missing)));
		if (missing >= 0) await pause();
	}
	return found;
}

const ways = {
	pipelined: async () => {
		const hashes = [];
		for (let index = 0; index < count; index++) hashes.push(await send(client, index));
		return hashes;
	},
	all_at_once: () => Promise.all(Array.from({ length: count }, (_, index) => send(client, index))),
	batched: () => Promise.all(Array.from({ length: count }, (_, index) => send(batching, index))),
	one_by_one: async () => {
		const hashes = [];
		for (let index = 0; index < count; index++) {
			hashes.push(await send(client, index));
			await receipts(hashes.slice(-1));
		}
		return hashes;
	},
};

// The first signature makes tables.
await account.signTransaction({ chainId: foundry.id, type: 'eip1559', nonce: 0, gas: 21000n });
const began = performance.now();
const hashes = await ways[how]();
const sent = performance.now();
const all = await receipts(hashes);
const ended = performance.now();

if (!all.every(({ status }) => status === 'success')) throw new Error('not all were successful');
console.log(JSON.stringify({
	seconds: (ended - began) / 1000,
	sent_seconds: (sent - began) / 1000,
	blocks: new Set(all.map(({ blockNumber }) => blockNumber)).size,
}));
