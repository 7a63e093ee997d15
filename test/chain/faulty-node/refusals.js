// What clients say when they refuse a transaction: test/data/node_refusals.jsonl, by client and
// class.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const FILE = path.join(__dirname, '..', '..', 'data', 'node_refusals.jsonl');

const rows = fs.readFileSync(FILE, 'utf8').split('\n').filter((line) => line !== '')
  .map((line) => JSON.parse(line));

// The error object of the index-th wording.
exports.refusal = (client, means, index = 0) => {
  const found = rows.filter((row) => row.client === client && row.class === means);

  if (found.length === 0) throw new Error(`${client} has no words for ${means}`);
  const { code, message } = found[index % found.length];
  return { code, message };
};

exports.refusals = () => rows;
