// How an answer leaves, or does not: faults of a whole request and of its answer.
'use strict';

const zlib = require('node:zlib');
const faults = require('./faults.js');

const HUGE_CHUNK_BYTES = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function send(response, status, headers, body) {
  const buffer = Buffer.from(body);

  response.writeHead(status, { 'content-length': buffer.length, ...headers });
  response.end(buffer);
}

exports.send = send;

function sendError(response, status, headers, code, message) {
  send(response, status, { ...JSON_TYPE, ...headers },
       JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

exports.sendRateLimit = (response, seconds, message) => {
  sendError(response, 429, seconds === undefined ? {} : { 'retry-after': String(seconds) }, -32005,
            message ?? 'rate limited');
};

async function sendHuge(response, fault) {
  const chunk = Buffer.alloc(HUGE_CHUNK_BYTES, ' ');
  let sink = response;

  response.writeHead(200, { ...JSON_TYPE, ...(fault.gzip ? { 'content-encoding': 'gzip' } : {}) });
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

// Before there is an answer.  True when the fault has dealt with the request.
exports.strikeBefore = async (fault, request, response) => {
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
      exports.sendRateLimit(response, fault.seconds, fault.message);
      return true;
    case 'refuse_batch':
      sendError(response, 200, {}, fault.code ?? -32600, fault.message ?? 'batch not supported');
      return true;
    case 'huge':
      await sendHuge(response, fault);
      return true;
    default:
      throw new Error(`unknown kind of fault: ${fault.kind}`);
  }
};

exports.reorder = (answers, body, records) => {
  for (const fault of faults.ofRequest(faults.order, body, records)) {
    if (fault.kind === 'shuffle') answers.reverse();
    else if (fault.kind === 'string_ids') {
      for (const answer of answers) answer.id = String(answer.id);
    } else {
      answers.push(...answers.map(({ id }) => ({
        jsonrpc: '2.0', id, error: { code: -32000, message: 'the second answer' },
      })));
    }
  }
};

async function sendDripping(response, body, fault) {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': body.length });
  for (let at = 0; at < body.length && !response.destroyed; at += fault.bytes) {
    response.write(body.subarray(at, at + fault.bytes));
    await sleep(fault.ms);
  }
  response.end();
}

function sendTruncated(response, body, fault) {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': body.length });
  response.write(body.subarray(0, Math.min(fault.bytes, body.length - 1)), () => response.socket.end());
}

// The connection ends with this answer, announced or not.
function sendLast(response, body, fault) {
  const { socket } = response;

  if (!fault.announced) response.on('finish', () => socket.end());
  send(response, 200, { ...JSON_TYPE, ...(fault.announced ? { connection: 'close' } : {}) }, body);
}

// answer: the text, as a buffer.
exports.sendAnswer = async (request, response, answer, body, records, state) => {
  const [fault] = faults.ofRequest(faults.sending, body, records);

  switch (fault?.kind) {
    case 'truncate':
      return sendTruncated(response, answer, fault);
    case 'drip':
      return sendDripping(response, answer, fault);
    case 'lose':
      return fault.reset ? request.socket.resetAndDestroy() : request.socket.end();
    case 'last':
      return sendLast(response, answer, fault);
    default:
  }
  if (state.gzip && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    return send(response, 200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, zlib.gzipSync(answer));
  }
  return send(response, 200, JSON_TYPE, answer);
};
