// The chain as a backend shows it: behind the head, with other base fees, without EIP-1559, with
// clocks that are wrong, or with blooms that say nothing.
'use strict';

const hex = (number) => '0x' + number.toString(16);
const isNumber = (tag) => typeof tag === 'string' && tag.startsWith('0x');
const isAbove = (tag, head) => isNumber(tag) && tag.length < 66 && Number(tag) > head;

// Where a method takes its block.
const BLOCK_AT = {
  eth_getBlockByNumber: 0, eth_getTransactionCount: 1, eth_getBalance: 1, eth_getCode: 1,
  eth_call: 1, eth_estimateGas: 1, eth_feeHistory: 1, eth_getStorageAt: 2,
};
const ABSENT_WITHOUT_1559 = new Set(['eth_feeHistory', 'eth_maxPriorityFeePerGas']);

function atHead(tag, head) {
  return tag === undefined || tag === null || tag === 'latest' || tag === 'pending' ? hex(head) : tag;
}

// The height that a view {lag, head} of a chain of that height shows; null: all of it.
exports.heightOf = (view, height) => {
  const shown = Math.max(height - (view.lag ?? 0), 0);
  return view.head === undefined || view.head === null ? shown : Math.min(shown, view.head);
};

exports.isBehind = (view) => (view.lag ?? 0) !== 0 || (view.head ?? null) !== null ||
  (view.receipts_lag ?? 0) !== 0;

// The call as a backend at that head takes it: {answer}, or {call} to forward.
exports.behind = (call, head) => {
  const answer = (result) => ({ answer: { jsonrpc: '2.0', id: call.id, result } });
  const params = structuredClone(call.params ?? []);
  const at = BLOCK_AT[call.method];

  if (call.method === 'eth_blockNumber') return answer(hex(head));
  if (at !== undefined) {
    params[at] = atHead(params[at], head);
    if (isAbove(params[at], head)) {
      if (call.method === 'eth_getBlockByNumber') return answer(null);
      return { answer: { jsonrpc: '2.0', id: call.id,
                         error: { code: -32000, message: 'header not found' } } };
    }
  }
  if (call.method === 'eth_getLogs' && params[0].blockHash === undefined) {
    params[0].fromBlock = atHead(params[0].fromBlock, head);
    params[0].toBlock = atHead(params[0].toBlock, head);
    if (isAbove(params[0].fromBlock, head)) return answer([]);
    if (isAbove(params[0].toBlock, head)) params[0].toBlock = hex(head);
  }
  return { call: { ...call, params } };
};

// What it says of things in blocks that it does not have.
exports.hide = (call, answer, head, view) => {
  const result = answer?.result;

  if (result === null || typeof result !== 'object') return answer;
  if (call.method === 'eth_getBlockByHash' && isAbove(result.number, head)) {
    return { ...answer, result: null };
  }
  if (call.method === 'eth_getTransactionReceipt' &&
      isAbove(result.blockNumber, head - (view.receipts_lag ?? 0))) return { ...answer, result: null };
  if (call.method === 'eth_getTransactionByHash' && isAbove(result.blockNumber, head)) {
    return { ...answer, result: { ...result, blockNumber: null, blockHash: null,
                                  transactionIndex: null } };
  }
  return answer;
};

// state.base_fees: {from, fees}: of block `from` and those after it; the last one stays.
function baseFee(script, number) {
  if (script === null || number < script.from) return null;
  return hex(BigInt(script.fees[Math.min(number - script.from, script.fees.length - 1)]));
}

function dressBlock(block, state) {
  const dressed = { ...block };
  const fee = baseFee(state.base_fees, Number(block.number));

  if (fee !== null) dressed.baseFeePerGas = fee;
  if (state.legacy) delete dressed.baseFeePerGas;
  if (state.skew !== 0) dressed.timestamp = hex(Number(block.timestamp) + state.skew);
  if (state.zero_blooms) dressed.logsBloom = '0x' + '00'.repeat(256);
  return dressed;
}

function dressHistory(history, state) {
  const oldest = Number(history.oldestBlock);

  return { ...history, baseFeePerGas: history.baseFeePerGas
    .map((fee, index) => baseFee(state.base_fees, oldest + index) ?? fee) };
}

// The answer as the state wants it to look.
exports.dress = (call, answer, state) => {
  const result = answer?.result;

  if (state.legacy && ABSENT_WITHOUT_1559.has(call.method)) {
    return { jsonrpc: '2.0', id: call.id,
             error: { code: -32601, message: `the method ${call.method} does not exist/is not available` } };
  }
  if (result === null || typeof result !== 'object') return answer;
  if (call.method === 'eth_getBlockByNumber' || call.method === 'eth_getBlockByHash') {
    return { ...answer, result: dressBlock(result, state) };
  }
  if (call.method === 'eth_feeHistory' && state.base_fees !== null) {
    return { ...answer, result: dressHistory(result, state) };
  }
  return answer;
};
