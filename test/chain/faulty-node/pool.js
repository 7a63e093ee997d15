// A mempool with the rules that anvil lacks, before the real node's: a replacement must offer a
// tenth more on both fees (blobs: twice as much), gaps of nonces may be refused, the pool may be
// full or want a least tip, and it forgets without a word.  It refuses in the words of a client.
//
// state.pool: {sender, client, bump, blob_bump, gaps: 'queue' or 'refuse', limit, min_tip}.  It is
// the pool of one sender, whose address is given: this program recovers no signatures.
'use strict';

const { keccak256 } = require('./keccak.js');
const { refusal } = require('./refusals.js');

const BLOB_TYPE = 3;
// Where nonce, tip and fee stand in a typed transaction, and in a legacy one.
const TYPED = { 1: [1, 2, 2], 2: [1, 2, 3], 3: [1, 2, 3], 4: [1, 2, 3] };
const LEGACY = [0, 1, 1];

const entries = new Map(); // nonce -> {nonce, hash, type, tip, fee}

// The strings of the one list that an RLP item is; lists within it are skipped.
function listItems(data) {
  const items = [];
  const lengthAt = (at, size) => data.readUIntBE(at, size);
  let at = data[0] < 0xf8 ? 1 : data[0] - 0xf6;

  while (at < data.length) {
    const first = data[at++];
    let length = 0;

    if (first < 0x80) { items.push(data.subarray(at - 1, at)); continue; }
    const base = first < 0xc0 ? 0x80 : 0xc0;
    if (first - base < 56) length = first - base;
    else {
      const size = first - base - 55;
      length = lengthAt(at, size);
      at += size;
    }
    items.push(data.subarray(at, at + length));
    at += length;
  }
  return items;
}

const number = (bytes) => (bytes.length === 0 ? 0n : BigInt('0x' + bytes.toString('hex')));

function decode(raw) {
  const data = Buffer.from(raw.slice(2), 'hex');
  const type = data[0] >= 0xc0 ? 0 : data[0];
  const items = listItems(type === 0 ? data : data.subarray(1));
  const [nonce, tip, fee] = (TYPED[type] ?? LEGACY).map((index) => number(items[index]));

  return { nonce: Number(nonce), type, tip, fee, hash: keccak256(data) };
}

exports.hashOf = (raw) => keccak256(Buffer.from(raw.slice(2), 'hex'));

// What the pool says to it: the class of a refusal, or null.
function ruling(rules, transaction, used) {
  const { nonce, tip, fee, hash, type } = transaction;
  const existing = entries.get(nonce);
  const bump = BigInt(100 + (type === BLOB_TYPE ? rules.blob_bump ?? 100 : rules.bump ?? 10));
  let next = used;

  if (nonce < used) return 'nonce_consumed';
  if (existing?.hash === hash) return 'known';
  if (tip < BigInt(rules.min_tip ?? 0)) return 'fee_too_low';
  if (existing !== undefined) {
    return tip * 100n < existing.tip * bump || fee * 100n < existing.fee * bump ? 'slot_taken' : null;
  }
  while (entries.has(next)) next++;
  if (rules.gaps === 'refuse' && nonce > next) return 'nonce_ahead';
  if (entries.size >= (rules.limit ?? Infinity)) return 'node_trouble';
  return null;
}

// The answer to eth_sendRawTransaction, or null when the real node is to have it.
exports.offer = (rules, call, used) => {
  const transaction = decode(call.params[0]);
  let means;

  for (const nonce of entries.keys()) if (nonce < used) entries.delete(nonce);
  means = ruling(rules, transaction, used);
  if (means !== null) {
    return { jsonrpc: '2.0', id: call.id, error: refusal(rules.client ?? 'geth', means) };
  }
  entries.set(transaction.nonce, transaction);
  return null;
};

exports.list = () => [...entries.values()]
  .map((entry) => ({ ...entry, tip: String(entry.tip), fee: String(entry.fee) }))
  .sort((a, b) => a.nonce - b.nonce);

// Forgets the transactions of these nonces (all without any), and returns their hashes.
exports.evict = (nonces) => {
  const gone = [...entries.values()].filter(({ nonce }) => nonces === undefined || nonces.includes(nonce));

  for (const { nonce } of gone) entries.delete(nonce);
  return gone.map(({ hash }) => hash);
};
