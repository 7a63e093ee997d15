// A JSON-RPC node on loopback that misbehaves on request: a proxy before a real node, or a node
// of canned answers.  No dependencies; Node.js 18 or later.
//
//   node faulty-node.js [--port N] [--upstream http://127.0.0.1:8545]
//
// prints "listening on PORT" once it answers.  Tests steer it over HTTP, on the same port:
//
//   POST   /control/faults  [fault, ...]  replaces all faults; [] heals the node
//   GET    /control/faults                the faults, with "hits": how often each struck
//   POST   /control/state   {...}         merges into the state below
//   GET    /control/state                 the state, with "requests" and "connections" so far
//   GET    /control/calls                 every call since the last DELETE: {at, request, method,
//                                         params, id, batch}; at is in ms, request counts requests
//   DELETE /control/calls
//
// State: upstream (URL or null), lag (blocks that the head is behind the upstream's), head (a
// height that the head does not pass, or null), gzip (compress answers).
//
// A fault is {kind, ...}.  Common to all: method (only requests with such a call; for faults of
// calls: only those calls), params (only calls whose parameters have this text in them), skip (the
// first N that would match), times (how often it strikes; left out: until healed).  A request meets
// its faults in the order of the list.
//
// Before an answer exists:
//   hang {ms}              waits (for ever without ms), then goes on
//   close, reset           closes the connection (FIN, RST) without an answer
//   respond {status, headers, body}   that and nothing else, e.g. 502 with HTML
//   rate_limit {seconds, message}     429, Retry-After where seconds is given
//   refuse_batch {max, code, message} one error object, id null, for arrays of more than max (0)
//   huge {bytes, gzip}     a body of that many bytes; with gzip, sent in few
// Of single calls:
//   result {result}, error {code, message, data}     that instead of the upstream's answer
//   drop                   no answer to this call
//   wrong_id               an id that nobody sent
// Of an answer:
//   shuffle                reverses the order of a batch
//   duplicate              answers each call twice, the second time with an error
//   truncate {bytes}       announces all, sends so many bytes, closes
//   drip {bytes, ms}       sends so many bytes every so many ms
'use strict';

const http = require('node:http');
const zlib = require('node:zlib');

const WRONG_ID_OFFSET = 1000000000;
const HUGE_CHUNK_BYTES = 1024 * 1024;

const state = { upstream: null, lag: 0, head: null, gzip: false };
const agent = new http.Agent({ keepAlive: true });
let faults = [];
let calls = [];
let requests = 0;
let connections = 0;

// ---- faults ----------------------------------------------------------------

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

function isMeant(fault, call) {
  return call.method === fault.method &&
    (fault.params === undefined || JSON.stringify(call.params).includes(fault.params));
}

// body: one call, or an array of them.
function strikesRequest(fault, kinds, body) {
  const batch = [].concat(body);

  return kinds.has(fault.kind) &&
    (fault.method === undefined || batch.some((call) => isMeant(fault, call))) &&
    (fault.kind !== 'refuse_batch' || (Array.isArray(body) && batch.length > (fault.max ?? 0))) &&
    strikes(fault);
}

function faultOfCall(kinds, call) {
  return faults.find((fault) => kinds.has(fault.kind) &&
    (fault.method === undefined || isMeant(fault, call)) && strikes(fault));
}

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// ---- the upstream ----------------------------------------------------------

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

async function askUpstream(batch) {
  if (state.upstream === null) {
    return batch.map((call) => ({
      jsonrpc: '2.0', id: call.id, error: { code: -32601, message: 'the method is not canned' },
    }));
  }
  return JSON.parse(await post(state.upstream, Buffer.from(JSON.stringify(batch))));
}

// ---- a head that lags ------------------------------------------------------

const hex = (number) => '0x' + number.toString(16);

async function visibleHead() {
  if (state.lag === 0 && state.head === null) return null;
  const [answer] = await askUpstream([{ jsonrpc: '2.0', id: 0, method: 'eth_blockNumber', params: [] }]);
  const head = Math.max(Number(answer.result) - state.lag, 0);
  return state.head === null ? head : Math.min(head, state.head);
}

function block(tag, head) {
  if (tag === undefined || tag === 'latest' || tag === 'pending') return hex(head);
  return tag;
}

const isAbove = (tag, head) => tag.startsWith('0x') && Number(tag) > head;

// The call as a node at that head would take it: an answer, or the call to forward.
function behindHead(call, head) {
  const answer = (result) => ({ answer: { jsonrpc: '2.0', id: call.id, result } });
  const params = structuredClone(call.params ?? []);

  if (call.method === 'eth_blockNumber') return answer(hex(head));
  if (call.method === 'eth_getBlockByNumber') {
    params[0] = block(params[0], head);
    if (isAbove(params[0], head)) return answer(null);
  }
  if (call.method === 'eth_getLogs' && params[0].blockHash === undefined) {
    params[0].fromBlock = block(params[0].fromBlock, head);
    params[0].toBlock = block(params[0].toBlock, head);
    if (isAbove(params[0].fromBlock, head)) return answer([]);
    if (isAbove(params[0].toBlock, head)) params[0].toBlock = hex(head);
  }
  return { call: { ...call, params } };
}

// ---- answering a batch -----------------------------------------------------

const CANNED = new Set(['result', 'error']);
const CALL_LOSSES = new Set(['drop', 'wrong_id']);

function cannedAnswer(call, fault) {
  const answer = { jsonrpc: '2.0', id: call.id };

  if (fault.kind === 'result') answer.result = fault.result;
  else answer.error = { code: fault.code, message: fault.message, data: fault.data };
  return answer;
}

function lose(answer, call) {
  const fault = faultOfCall(CALL_LOSSES, call);

  if (fault === undefined) return answer;
  return fault.kind === 'drop' ? null : { ...answer, id: call.id + WRONG_ID_OFFSET };
}

async function answerBatch(batch) {
  const head = await visibleHead();
  const answers = new Array(batch.length).fill(null);
  const forwarded = [];

  batch.forEach((call, index) => {
    const fault = faultOfCall(CANNED, call);
    const seen = head === null ? { call } : behindHead(call, head);

    if (fault !== undefined) answers[index] = cannedAnswer(call, fault);
    else if (seen.answer !== undefined) answers[index] = seen.answer;
    else forwarded.push({ call: seen.call, index });
  });
  if (forwarded.length > 0) {
    const byId = new Map((await askUpstream(forwarded.map(({ call }) => call)))
      .map((answer) => [answer.id, answer]));
    forwarded.forEach(({ call, index }) => { answers[index] = byId.get(call.id) ?? null; });
  }
  return answers.map((answer, index) => answer && lose(answer, batch[index]))
    .filter((answer) => answer !== null);
}

// ---- sending ---------------------------------------------------------------

function send(response, status, headers, body) {
  const buffer = Buffer.from(body);

  response.writeHead(status, { 'content-length': buffer.length, ...headers });
  response.end(buffer);
}

async function sendDripping(response, body, fault) {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  for (let at = 0; at < body.length && !response.destroyed; at += fault.bytes) {
    response.write(body.subarray(at, at + fault.bytes));
    await sleep(fault.ms);
  }
  response.end();
}

function sendTruncated(response, body, fault) {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.write(body.subarray(0, Math.min(fault.bytes, body.length - 1)), () => response.socket.end());
}

async function sendHuge(response, fault) {
  const chunk = Buffer.alloc(HUGE_CHUNK_BYTES, ' ');
  let sink = response;

  response.writeHead(200, { 'content-type': 'application/json',
                            ...(fault.gzip ? { 'content-encoding': 'gzip' } : {}) });
  if (fault.gzip) {
    sink = zlib.createGzip();
    sink.pipe(response);
  }
  for (let sent = 0; sent < fault.bytes && !response.destroyed; sent += chunk.length) {
    if (!sink.write(chunk)) {
      await Promise.race([new Promise((resolve) => { sink.once('drain', resolve); }),
                          new Promise((resolve) => { response.once('close', resolve); })]);
    }
  }
  sink.end();
}

// True when the fault has dealt with the request.
async function strikeBefore(fault, request, response) {
  switch (fault.kind) {
    case 'hang':
      await (fault.ms === undefined ? new Promise(() => {}) : sleep(fault.ms));
      return response.destroyed;
    case 'close':
      request.socket.end();
      return true;
    case 'reset':
      request.socket.resetAndDestroy();
      return true;
    case 'respond':
      send(response, fault.status ?? 200, fault.headers ?? {}, fault.body ?? '');
      return true;
    case 'rate_limit':
      send(response, 429,
           fault.seconds === undefined ? {} : { 'retry-after': String(fault.seconds) },
           JSON.stringify({ jsonrpc: '2.0', id: null,
                            error: { code: -32005, message: fault.message ?? 'rate limited' } }));
      return true;
    case 'refuse_batch':
      send(response, 200, { 'content-type': 'application/json' },
           JSON.stringify({ jsonrpc: '2.0', id: null,
                            error: { code: fault.code ?? -32600,
                                     message: fault.message ?? 'batch not supported' } }));
      return true;
    case 'huge':
      await sendHuge(response, fault);
      return true;
    default:
      throw new Error(`unknown kind of fault: ${fault.kind}`);
  }
}

const BEFORE = new Set(['hang', 'close', 'reset', 'respond', 'rate_limit', 'refuse_batch', 'huge']);
const ORDER = new Set(['shuffle', 'duplicate']);
const SENDING = new Set(['truncate', 'drip']);
const KINDS = new Set([...BEFORE, ...CANNED, ...CALL_LOSSES, ...ORDER, ...SENDING]);

function reorder(answers, body) {
  for (const fault of faults.filter((one) => strikesRequest(one, ORDER, body))) {
    if (fault.kind === 'shuffle') answers.reverse();
    else {
      answers.push(...answers.map(({ id }) => ({
        jsonrpc: '2.0', id, error: { code: -32000, message: 'the second answer' },
      })));
    }
  }
}

async function handleRpc(request, response, text) {
  const body = JSON.parse(text);
  const isArray = Array.isArray(body);
  const batch = isArray ? body : [body];

  requests++;
  for (const { id, method, params } of batch) {
    calls.push({ at: performance.timeOrigin + performance.now(), request: requests, method,
                 params, id, batch: isArray });
  }
  for (const fault of faults) {
    if (strikesRequest(fault, BEFORE, body) && await strikeBefore(fault, request, response)) {
      return;
    }
  }
  const answers = await answerBatch(batch);
  reorder(answers, body);
  const answer = Buffer.from(JSON.stringify(isArray ? answers : answers[0] ?? {}));
  const sending = faults.find((fault) => strikesRequest(fault, SENDING, body));
  if (sending?.kind === 'truncate') sendTruncated(response, answer, sending);
  else if (sending?.kind === 'drip') await sendDripping(response, answer, sending);
  else if (state.gzip && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    send(response, 200, { 'content-type': 'application/json', 'content-encoding': 'gzip' },
         zlib.gzipSync(answer));
  } else send(response, 200, { 'content-type': 'application/json' }, answer);
}

// ---- control ---------------------------------------------------------------

function setFaults(list) {
  const unknown = list.find((fault) => !KINDS.has(fault.kind));

  if (unknown !== undefined) throw new Error(`unknown kind of fault: ${unknown.kind}`);
  faults = list.map((fault) => ({ ...fault, hits: 0 }));
}

function setState(changes) {
  for (const name of Object.keys(changes)) {
    if (!(name in state)) throw new Error(`unknown state: ${name}`);
  }
  Object.assign(state, changes);
}

function handleControl(request, response, text) {
  const reply = (value) => send(response, 200, { 'content-type': 'application/json' },
                                JSON.stringify(value));

  switch (`${request.method} ${request.url}`) {
    case 'POST /control/faults':
      setFaults(JSON.parse(text));
      return reply({});
    case 'GET /control/faults':
      return reply(faults);
    case 'POST /control/state':
      setState(JSON.parse(text));
      return reply({});
    case 'GET /control/state':
      return reply({ ...state, requests, connections });
    case 'GET /control/calls':
      return reply(calls);
    case 'DELETE /control/calls':
      calls = [];
      return reply({});
    default:
      return send(response, 404, {}, 'no such control');
  }
}

// ---- the server ------------------------------------------------------------

async function handle(request, response) {
  const chunks = [];

  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  if (request.url.startsWith('/control/')) handleControl(request, response, text);
  else await handleRpc(request, response, text);
}

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const server = http.createServer((request, response) => {
  response.on('error', () => {});
  handle(request, response).catch((error) => {
    if (!response.headersSent) send(response, 500, {}, `faulty node: ${error.message}\n`);
    else response.destroy();
  });
});

state.upstream = option('--upstream') ?? null;
server.keepAliveTimeout = 0;
server.on('connection', (socket) => {
  connections++;
  socket.setNoDelay(true);
  socket.on('error', () => {});
});
server.listen(Number(option('--port') ?? 0), '127.0.0.1', () => {
  console.log(`listening on ${server.address().port}`);
});
