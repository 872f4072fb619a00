-- The limiter of one account: the algorithm of contract/src/port/limiter-state.ts, inside Redis because all API processes share it.
-- KEYS  1 holdings: render -> its reservation, as JSON      2 lapses: renders, sorted by the time when their reservation expires
--       3 sums of the reservations: units of a month, outstanding renders of an engine
--       4 charges of the month: see limiter/charge.lua, which precedes this file      5 renders that ended without a charge
--       to reserve or report: 6 settings: a revision, and its limits as JSON      from 7 on rate buckets: second -> renders admitted in it
--       to complete one render: from 6 on the rate buckets in which it was counted
-- All keys belong to one account and are in one hash slot. All expire by the clock of Redis, while `now` may come from the caller.
local HOLDINGS, LAPSES, SUMS, ENDED = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local SECOND_MS = 1000
local COUNTED_MS = request.windowMs + SECOND_MS

local function sumOf(name)
  return tonumber(redis.call('HGET', SUMS, name) or 0)
end

-- A sum never becomes negative, even if Redis has evicted it.
local function add(name, amount)
  if amount ~= 0 and redis.call('HINCRBY', SUMS, name, amount) <= 0 then redis.call('HDEL', SUMS, name) end
end

local function addToSums(holding, sign)
  add('units ' .. holding.period, sign * holding.units)
  if holding.mode == 'async' then add('outstanding ' .. holding.engine, sign) end
end

local function holdingOf(id)
  local text = redis.call('HGET', HOLDINGS, id)
  return text and cjson.decode(text)
end

local function release(id)
  local holding = holdingOf(id)
  redis.call('ZREM', LAPSES, id)
  if not holding then return nil end
  redis.call('HDEL', HOLDINGS, id)
  addToSums(holding, -1)
  return holding
end

local function hold(id, render, entry)
  local holding = {
    engine = render.engine, mode = render.heldMode, units = render.units, period = render.period, entry = entry,
  }
  redis.call('HSET', HOLDINGS, id, cjson.encode(holding))
  redis.call('ZADD', LAPSES, now + request.holdMs, id)
  addToSums(holding, 1)
end

local function keepHoldings()
  for _, key in ipairs({HOLDINGS, LAPSES, SUMS}) do redis.call('PEXPIRE', key, request.keptMs) end
end

local function releaseExpired()
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', LAPSES, '-inf', now)) do release(id) end
end

local function usage()
  return {charged = chargeTotal().charged, reserved = sumOf('units ' .. request.period)}
end

local function freeAt(second)
  return second * SECOND_MS + COUNTED_MS
end

-- A second more than a window ahead was counted before the clock was set back. It must not refuse renders for that long.
local function isCounted(second)
  local left = freeAt(second) - now
  return left > 0 and left <= COUNTED_MS + request.windowMs
end

-- The limits of the caller, unless newer ones are published that it does not know yet.
local function limitsInForce()
  local revision, text = unpack(redis.call('HMGET', KEYS[6], 'revision', 'limits'))
  if not text or tonumber(revision) <= request.revision then return request.limits end
  local isJson, limits = pcall(cjson.decode, text)
  if not isJson then return request.limits end
  -- During an upgrade, an operator that knows fewer limits than the caller may have written them.
  return setmetatable(limits, {__index = request.defaults})
end

-- How long until `count` more renders fit into a bucket. `flat` has its fields and values.
local function waitFor(count, flat)
  local window = {}
  for i = 1, #flat, 2 do
    local second = tonumber(flat[i])
    if isCounted(second) then window[#window + 1] = {second = second, count = tonumber(flat[i + 1])} end
  end
  table.sort(window, function(a, b) return a.second < b.second end)
  local free = 0
  for _, slot in ipairs(window) do
    free = free + slot.count
    if free >= count then return freeAt(slot.second) - now end
  end
  return request.windowMs
end

local function readBucket(bucket, limit)
  local flat, used, newest = redis.call('HGETALL', bucket.key), 0, nil
  -- A busy bucket has sixty fields, so this loop allocates nothing for each.
  for i = 1, #flat, 2 do
    local second = tonumber(flat[i])
    if isCounted(second) then
      used = used + tonumber(flat[i + 1])
      if not newest or second > newest then newest = second end
    else
      redis.call('HDEL', bucket.key, flat[i])
    end
  end
  return {
    reason = bucket.reason,
    limit = limit,
    remaining = math.max(limit - used, 0),
    resetAt = newest and freeAt(newest) or now,
    retryAfterMs = used < limit and 0 or waitFor(used - limit + 1, flat),
  }
end

local function tightest(rates)
  local best = rates[1]
  for _, each in ipairs(rates) do
    local isTighter = each.remaining < best.remaining or (each.remaining == best.remaining and each.limit < best.limit)
    if isTighter then best = each end
  end
  return {limit = best.limit, remaining = best.remaining, resetAt = best.resetAt}
end

local function refusalByRate(rates, limit)
  local reason, retryAfterMs = nil, 0
  for _, each in ipairs(rates) do
    if each.retryAfterMs > 0 then
      if reason ~= 'rate' then reason = each.reason end
      retryAfterMs = math.max(retryAfterMs, each.retryAfterMs)
    end
  end
  if not reason then return nil end
  local rate = tightest(rates)
  return {kind = 'refused', reason = reason, retryAfterMs = retryAfterMs, rate = rate, usage = usage(), limit = limit}
end

local function refusalByQuota(rates, limit)
  local used = usage()
  if not limit or request.unitsInAll == 0 or used.charged + used.reserved + request.unitsInAll <= limit then return nil end
  return {kind = 'refused', reason = 'quota', limit = limit, usage = used, rate = tightest(rates)}
end

local function lane(fairShare)
  if request.mode == 'sync' then return 'sync' end
  return sumOf('outstanding ' .. request.engine) < fairShare and 'async' or 'bulk'
end

local function admit(rates, buckets, limits)
  local second, keys = math.floor(now / SECOND_MS), {}
  for i, bucket in ipairs(buckets) do
    keys[i] = bucket.key
    redis.call('HINCRBY', bucket.key, second, 1)
    redis.call('PEXPIRE', bucket.key, COUNTED_MS + request.windowMs)
    rates[i].remaining = rates[i].remaining - 1
    rates[i].resetAt = freeAt(second)
  end
  local used = usage()
  used.reserved = used.reserved + request.unitsInAll
  local decision = {
    kind = 'admitted', lane = lane(limits.asyncFairShare), rate = tightest(rates), usage = used,
    limit = limits.renderLimitMonthly,
  }
  -- The renders of a batch are one request, so only the first of them was counted in buckets.
  for _, id in ipairs(request.others) do
    release(id)
    hold(id, request)
  end
  release(request.id)
  hold(request.id, request, {decision = decision, second = second, buckets = keys})
  keepHoldings()
  return decision
end

-- The rates whose limit is set, and their buckets.
local function ratesInForce(limits)
  local rates, buckets = {}, {}
  for _, bucket in ipairs(request.buckets) do
    local otherwise = bucket.otherwise
    local limit = limits[bucket.limit] or otherwise and limits[otherwise.limit] * otherwise.times
    if limit then
      rates[#rates + 1] = readBucket(bucket, limit)
      buckets[#buckets + 1] = bucket
    end
  end
  return rates, buckets
end

local operations = {}

function operations.reserve()
  releaseExpired()
  local known = holdingOf(request.id)
  if known and known.entry then return known.entry.decision end
  local limits = limitsInForce()
  local rates, buckets = ratesInForce(limits)
  return refusalByRate(rates, limits.renderLimitMonthly) or refusalByQuota(rates, limits.renderLimitMonthly)
    or admit(rates, buckets, limits)
end

-- Those of the renders that have not ended yet, each once.
local function notEnded(renders)
  local ids, rest, isKnown = {}, {}, {}
  for i, render in ipairs(renders) do ids[i] = render.id end
  readCharges(renders)
  local isFree = redis.call('SMISMEMBER', ENDED, unpack(ids))
  for i, render in ipairs(renders) do
    if isFree[i] == 0 and not isKnown[render.id] and not isCharged(render.id) then rest[#rest + 1] = render end
    isKnown[render.id] = true
  end
  return rest
end

-- The confirmation from the queue may arrive after the render has ended. What its reservation holds stays as it is.
function operations.confirm()
  releaseExpired()
  for _, render in ipairs(notEnded(request.renders)) do
    if redis.call('HEXISTS', HOLDINGS, render.id) == 0 then
      hold(render.id, render)
    else
      redis.call('ZADD', LAPSES, now + request.holdMs, render.id)
    end
  end
  keepHoldings()
end

local function returnRates(holding)
  for i = 6, #KEYS do
    if holding.entry and redis.call('HINCRBY', KEYS[i], holding.entry.second, -1) <= 0 then
      redis.call('HDEL', KEYS[i], holding.entry.second)
    end
  end
end

local function releaseAll(ids)
  redis.call('ZREM', LAPSES, unpack(ids))
  for i, text in ipairs(redis.call('HMGET', HOLDINGS, unpack(ids))) do
    if text then
      local holding = cjson.decode(text)
      redis.call('HDEL', HOLDINGS, ids[i])
      addToSums(holding, -1)
      returnRates(holding)
    end
  end
end

-- An end without `units` is free.
function operations.complete()
  releaseExpired()
  local ends, ids, free = notEnded(request.ends), {}, {}
  if #ends == 0 then return chargeTotal() end
  for i, ended in ipairs(ends) do ids[i] = ended.id end
  -- First, because a Redis without memory allows a script to write more only after it has written something that takes none.
  releaseAll(ids)
  for _, ended in ipairs(ends) do
    if ended.units then charge(ended) else free[#free + 1] = ended.id end
  end
  if #free < #ends then writeCharges() end
  if #free > 0 then
    redis.call('SADD', ENDED, unpack(free))
    redis.call('PEXPIRE', ENDED, request.keptMs)
  end
  return chargeTotal()
end

function operations.usage()
  releaseExpired()
  return usage()
end

function operations.report()
  releaseExpired()
  local limits = limitsInForce()
  local rates, buckets = ratesInForce(limits)
  for i, rate in ipairs(rates) do
    rates[i] = {name = buckets[i].limit, limit = rate.limit, remaining = rate.remaining, resetAt = rate.resetAt}
  end
  return {
    usage = usage(), limit = limits.renderLimitMonthly, rates = rates,
    templates = countsOf('template', countedTemplates()), days = countsOf('day', daysOfMonth()),
  }
end

operations.chargeTotal = chargeTotal

local answer = operations[request.operation]()
return answer and cjson.encode(answer)
