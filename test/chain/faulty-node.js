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
//   GET    /control/state                 the state, with "requests" and "connections" so far, and
//                                         with "units_spent" and "units_refused" of its limit
//   GET    /control/calls                 every call since the last DELETE: {at, request, method,
//                                         params, id, batch, struck}; at is in ms, request counts
//                                         requests, struck names the faults
//   DELETE /control/calls
//   GET    /control/pool                  what its pool holds: [{nonce, hash, type, tip, fee}]
//   POST   /control/evict   [nonce, ...]  the pool forgets these (all with []), without a word
//
// State:
//   upstream       URL or null
//   lag, head      blocks that it is behind the upstream; a height that its head does not pass
//   backends       null, or the nodes behind this address, which answer by turns: [{lag, head,
//                  receipts_lag}]; receipts_lag: receipts come that many blocks late
//   spread         'request' or 'call': what is given to the next backend
//   gzip           compresses answers
//   pool           null, or the rules of its mempool: see faulty-node/pool.js
//   units          null, or its limit of compute units: see faulty-node/units.js
//   base_fees      null, or {from, fees}: what blocks from that one on say their base fee is
//   legacy         knows nothing of EIP-1559
//   skew           seconds that its clock is ahead in the timestamps of blocks
//   zero_blooms    blocks have empty blooms
//
// A fault is {kind, ...}.  Common to all: method (only requests with such a call; for faults of
// calls: only those calls), params (… whose parameters contain this text), skip (the first N that
// would match), times (how often it strikes; left out: until healed).  A request meets its faults
// in the order of the list.
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
//   refuse {client, means, index}     what this client says (test/data/node_refusals.jsonl)
//   forget                 says that it took the raw transaction, and does not
//   log_limit {blocks, code, message} refuses ranges of more blocks
//   drop                   no answer to this call
//   wrong_id               an id that nobody sent
// Of an answer:
//   shuffle                reverses the order of a batch
//   duplicate              answers each call twice, the second time with an error
//   string_ids             ids as strings
//   truncate {bytes}       announces all, sends so many bytes, closes
//   drip {bytes, ms}       sends so many bytes every so many ms
//   lose {reset}           does what it is asked to, and closes the connection instead of answering
//   last {announced}       the connection ends with the answer: with "Connection: close", or not
'use strict';

const http = require('node:http');
const calls = require('./faulty-node/calls.js');
const faults = require('./faulty-node/faults.js');
const pool = require('./faulty-node/pool.js');
const sending = require('./faulty-node/sending.js');
const units = require('./faulty-node/units.js');

const state = {
  upstream: null, lag: 0, head: null, backends: null, spread: 'request', gzip: false, pool: null,
  units: null, base_fees: null, legacy: false, skew: 0, zero_blooms: false,
};
let log = [];
let requests = 0;
let connections = 0;

// ---- JSON-RPC --------------------------------------------------------------

function record(batch, isArray) {
  requests++;
  const records = batch.map(({ id, method, params }) => ({
    at: performance.timeOrigin + performance.now(), request: requests, method, params, id,
    batch: isArray, struck: [],
  }));
  log.push(...records);
  return records;
}

async function handleRpc(request, response, text) {
  const body = JSON.parse(text);
  const isArray = Array.isArray(body);
  const batch = isArray ? body : [body];
  const records = record(batch, isArray);

  for (const fault of faults.ofRequest(faults.before, body, records)) {
    if (await sending.strikeBefore(fault, request, response)) return;
  }
  if (state.units !== null && !units.allows(state.units, batch)) {
    sending.sendRateLimit(response, state.units.retry_after);
    return;
  }
  const answers = await calls.answerBatch(state, batch, records);
  sending.reorder(answers, body, records);
  const answer = Buffer.from(JSON.stringify(isArray ? answers : answers[0] ?? {}));
  await sending.sendAnswer(request, response, answer, body, records, state);
}

// ---- control ---------------------------------------------------------------

function setState(changes) {
  for (const name of Object.keys(changes)) {
    if (!(name in state)) throw new Error(`unknown state: ${name}`);
  }
  Object.assign(state, changes);
  if ('units' in changes) units.reset();
}

const CONTROLS = {
  'POST /control/faults': (body) => { faults.set(body); },
  'GET /control/faults': () => faults.list(),
  'POST /control/state': (body) => { setState(body); },
  'GET /control/state': () => ({
    ...state, requests, connections, units_spent: units.counted.units,
    units_refused: units.counted.refused,
  }),
  'GET /control/calls': () => log,
  'DELETE /control/calls': () => { log = []; },
  'GET /control/pool': () => pool.list(),
  'POST /control/evict': (body) => calls.evict(state, body.length === 0 ? undefined : body),
};

async function handleControl(request, response, text) {
  const control = CONTROLS[`${request.method} ${request.url}`];

  if (control === undefined) return sending.send(response, 404, {}, 'no such control');
  const value = await control(text === '' ? undefined : JSON.parse(text));
  return sending.send(response, 200, { 'content-type': 'application/json' },
                      JSON.stringify(value ?? {}));
}

// ---- the server ------------------------------------------------------------

async function handle(request, response) {
  const chunks = [];

  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  if (request.url.startsWith('/control/')) await handleControl(request, response, text);
  else await handleRpc(request, response, text);
}

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const server = http.createServer((request, response) => {
  response.on('error', () => {});
  handle(request, response).catch((error) => {
    if (!response.headersSent) sending.send(response, 500, {}, `faulty node: ${error.message}\n`);
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
