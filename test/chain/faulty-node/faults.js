// Which faults there are, and which of them strike a request or a call.  What they do is in
// calls.js (one answer) and sending.js (a whole one).
'use strict';

const KINDS = {
  before: ['hang', 'close', 'reset', 'respond', 'rate_limit', 'refuse_batch', 'huge'],
  canned: ['result', 'error', 'refuse', 'forget', 'log_limit'],
  losses: ['drop', 'wrong_id'],
  order: ['shuffle', 'duplicate', 'string_ids'],
  sending: ['truncate', 'drip', 'lose', 'last'],
};

for (const [group, kinds] of Object.entries(KINDS)) exports[group] = new Set(kinds);
const ALL = new Set(Object.values(KINDS).flat());

let faults = [];

exports.list = () => faults;

exports.set = (list) => {
  const unknown = list.find((fault) => !ALL.has(fault.kind));

  if (unknown !== undefined) throw new Error(`unknown kind of fault: ${unknown.kind}`);
  faults = list.map((fault) => ({ ...fault, hits: 0 }));
};

// Does the fault strike now?  Counts its skips and hits.
function strikes(fault) {
  if ((fault.skip ?? 0) > 0) {
    fault.skip--;
    return false;
  }
  if (fault.times !== undefined && fault.hits >= fault.times) return false;
  fault.hits++;
  return true;
}

const concerns = (fault, call) =>
  (fault.method === undefined || call.method === fault.method) &&
  (fault.params === undefined || JSON.stringify(call.params ?? []).includes(fault.params));

function blocksOf(call) {
  const { fromBlock, toBlock } = call.params?.[0] ?? {};
  return Number(toBlock) - Number(fromBlock) + 1;
}

const exceeds = (fault, call) =>
  fault.kind !== 'log_limit' || (call.method === 'eth_getLogs' && blocksOf(call) > fault.blocks);

// All faults of these kinds that strike the request; body is one call, or an array of them.
exports.ofRequest = function* ofRequest(kinds, body, records) {
  const batch = [].concat(body);

  for (const fault of faults) {
    if (kinds.has(fault.kind) && batch.some((call) => concerns(fault, call)) &&
        (fault.kind !== 'refuse_batch' || (Array.isArray(body) && batch.length > (fault.max ?? 0))) &&
        strikes(fault)) {
      for (const record of records) record.struck.push(fault.kind);
      yield fault;
    }
  }
};

// The first that strikes the call.
exports.ofCall = (kinds, call, record) => {
  const fault = faults.find((one) => kinds.has(one.kind) && concerns(one, call) &&
    exceeds(one, call) && strikes(one));

  if (fault !== undefined) record.struck.push(fault.kind);
  return fault;
};
