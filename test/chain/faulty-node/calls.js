// From the calls of a request to their answers: faults of single calls, the pool, and what the
// backends that stand behind one address let see of the chain.
'use strict';

const http = require('node:http');
const backend = require('./backend.js');
const faults = require('./faults.js');
const pool = require('./pool.js');
const { refusal } = require('./refusals.js');

const WRONG_ID_OFFSET = 1000000000;
const SEND = 'eth_sendRawTransaction';

const agent = new http.Agent({ keepAlive: true });

function post(url, body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve(Buffer.concat(chunks)));
      response.on('error', reject);
    });
    request.on('error', (error) => {
      // The node may have closed the kept connection at the same moment.
      if (request.reusedSocket) post(url, body).then(resolve, reject);
      else reject(error);
    });
    request.end(body);
  });
}

async function askUpstream(state, batch) {
  if (state.upstream === null) {
    return batch.map((call) => ({
      jsonrpc: '2.0', id: call.id, error: { code: -32601, message: 'the method is not canned' },
    }));
  }
  return JSON.parse(await post(state.upstream, Buffer.from(JSON.stringify(batch))));
}

async function askNumber(state, method, ...params) {
  const [answer] = await askUpstream(state, [{ jsonrpc: '2.0', id: 0, method, params }]);
  return Number(answer.result);
}

exports.upstream = (state, method, ...params) => askNumber(state, method, ...params);

// ---- views -----------------------------------------------------------------

let turn = 0;

// Which backend answers each call: by turns, for each request or for each call.
function viewsOf(state, count) {
  if (state.backends === null) return new Array(count).fill({ lag: state.lag, head: state.head });
  if (state.spread === 'call') {
    return Array.from({ length: count }, () => state.backends[turn++ % state.backends.length]);
  }
  return new Array(count).fill(state.backends[turn++ % state.backends.length]);
}

// ---- answers ---------------------------------------------------------------

function cannedAnswer(call, fault) {
  const answer = { jsonrpc: '2.0', id: call.id };

  switch (fault.kind) {
    case 'result':
      return { ...answer, result: fault.result };
    case 'forget':
      return { ...answer, result: pool.hashOf(call.params[0]) };
    case 'refuse':
      return { ...answer, error: refusal(fault.client, fault.means, fault.index) };
    case 'log_limit':
      return { ...answer, error: { code: fault.code ?? -32005, message: fault.message } };
    default:
      return { ...answer, error: { code: fault.code, message: fault.message, data: fault.data } };
  }
}

function lose(answer, call, record) {
  const fault = faults.ofCall(faults.losses, call, record);

  if (fault === undefined) return answer;
  return fault.kind === 'drop' ? null : { ...answer, id: call.id + WRONG_ID_OFFSET };
}

async function offerToPool(state, call) {
  const used = await askNumber(state, 'eth_getTransactionCount', state.pool.sender, 'latest');
  return pool.offer(state.pool, call, used);
}

// What the backend itself says, without the chain; {call} where that has to be asked.
async function ownAnswer(state, call, head, record) {
  const fault = faults.ofCall(faults.canned, call, record);

  if (fault !== undefined) return { answer: cannedAnswer(call, fault) };
  if (state.pool !== null && call.method === SEND) {
    const answer = await offerToPool(state, call);
    if (answer !== null) return { answer };
  }
  return head === null ? { call } : backend.behind(call, head);
}

// The answers in the order of the batch; what is lost is left out.
exports.answerBatch = async (state, batch, records) => {
  const views = viewsOf(state, batch.length);
  const height = views.some(backend.isBehind) ? await askNumber(state, 'eth_blockNumber') : 0;
  const heads = views.map((view) => (backend.isBehind(view) ? backend.heightOf(view, height) : null));
  const answers = new Array(batch.length).fill(null);
  const forwarded = [];

  for (const [index, call] of batch.entries()) {
    const own = await ownAnswer(state, call, heads[index], records[index]);
    if (own.answer !== undefined) answers[index] = own.answer;
    else forwarded.push({ call: { ...own.call, id: index }, index });
  }
  if (forwarded.length > 0) {
    const byId = new Map((await askUpstream(state, forwarded.map(({ call }) => call)))
      .map((answer) => [answer.id, answer]));
    for (const { index } of forwarded) {
      const answer = byId.get(index);
      if (answer === undefined) continue;
      const seen = heads[index] === null ? answer
        : backend.hide(batch[index], answer, heads[index], views[index]);
      answers[index] = { ...backend.dress(batch[index], seen, state), id: batch[index].id };
    }
  }
  return answers.map((answer, index) => answer && lose(answer, batch[index], records[index]))
    .filter((answer) => answer !== null);
};

// The pool forgets, and the real node with it.
exports.evict = async (state, nonces) => {
  for (const hash of pool.evict(nonces)) {
    await askUpstream(state, [{ jsonrpc: '2.0', id: 0, method: 'anvil_dropTransaction', params: [hash] }]);
  }
};
