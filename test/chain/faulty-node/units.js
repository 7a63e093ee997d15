// A limit of compute units per second, as hosted nodes have it: state.units {per_second, burst,
// costs, other, retry_after}.  What goes beyond it gets 429; what was spent and refused is counted.
'use strict';

let tokens = null;
let filledAt = 0;
const counted = { units: 0, refused: 0 };

exports.counted = counted;

exports.reset = () => { tokens = null; counted.units = 0; counted.refused = 0; };

// True when the limit allows the calls now.
exports.allows = (limit, batch) => {
  const now = performance.now();
  const size = limit.burst ?? limit.per_second;
  const cost = batch.reduce((sum, { method }) => sum + (limit.costs?.[method] ?? limit.other ?? 1), 0);

  tokens = tokens === null ? size
    : Math.min(size, tokens + ((now - filledAt) / 1000) * limit.per_second);
  filledAt = now;
  if (tokens < cost) {
    counted.refused++;
    return false;
  }
  tokens -= cost;
  counted.units += cost;
  return true;
};
