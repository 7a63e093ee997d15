// Keccak-256, which node:crypto does not have (its SHA-3 pads differently): the hash of a
// transaction that no real node has seen.
'use strict';

const ROUNDS = 24;
const RATE_BYTES = 136;
const MASK = (1n << 64n) - 1n;

const rotate = (word, by) => ((word << BigInt(by)) | (word >> BigInt(64 - by))) & MASK;

// The linear feedback shift register of FIPS 202, section 3.2.5.
function roundConstants() {
  const constants = [];
  let register = 1;

  for (let round = 0; round < ROUNDS; round++) {
    let constant = 0n;
    for (let j = 0; j < 7; j++) {
      register = ((register << 1) ^ ((register >> 7) * 0x71)) & 0xff;
      if (register & 2) constant |= 1n << BigInt((1 << j) - 1);
    }
    constants.push(constant);
  }
  return constants;
}

const CONSTANTS = roundConstants();

function permute(a) {
  for (const constant of CONSTANTS) {
    const c = [0, 1, 2, 3, 4].map((x) => a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
    for (let i = 0; i < 25; i++) a[i] ^= c[(i + 4) % 5] ^ rotate(c[(i + 1) % 5], 1);
    let [x, y] = [1, 0];
    let current = a[1];
    for (let t = 0; t < ROUNDS; t++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const next = a[x + 5 * y];
      a[x + 5 * y] = rotate(current, (((t + 1) * (t + 2)) / 2) % 64);
      current = next;
    }
    for (let row = 0; row < 25; row += 5) {
      const old = a.slice(row, row + 5);
      for (let i = 0; i < 5; i++) a[row + i] = old[i] ^ (~old[(i + 1) % 5] & MASK & old[(i + 2) % 5]);
    }
    a[0] ^= constant;
  }
}

// Of a buffer, as 0x hex.
exports.keccak256 = (data) => {
  const padded = Buffer.alloc((Math.floor(data.length / RATE_BYTES) + 1) * RATE_BYTES);
  const state = new Array(25).fill(0n);
  const out = Buffer.alloc(32);

  data.copy(padded);
  padded[data.length] ^= 0x01;
  padded[padded.length - 1] ^= 0x80;
  for (let at = 0; at < padded.length; at += RATE_BYTES) {
    for (let i = 0; i < RATE_BYTES / 8; i++) state[i] ^= padded.readBigUInt64LE(at + 8 * i);
    permute(state);
  }
  for (let i = 0; i < 4; i++) out.writeBigUInt64LE(state[i], 8 * i);
  return '0x' + out.toString('hex');
};
