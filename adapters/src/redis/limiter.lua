-- The limiter of one account: the algorithm of contract/src/limiter-state.ts, inside Redis because all API processes share it.
-- KEYS  1 holdings: render -> its reservation, as JSON      2 lapses: renders, sorted by the time when their reservation expires
--       3 sums of the reservations: units of a month, outstanding renders of an engine
--       4 charges of the month: `units` (their sum), the charged renders in buckets, `count` (a name of this count; a count that
--         begins after a loss has another name), and sums by template and by day      5 renders that ended without a charge
--       to reserve or report: 6 settings: a revision, and its limits as JSON      from 7 on rate buckets: second -> renders admitted in it
--       to complete one render: from 6 on the rate buckets in which it was counted
-- All keys belong to one account and are in one hash slot. All expire by the clock of Redis, while `now` may come from the caller.
local HOLDINGS, LAPSES, SUMS, CHARGES, ENDED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
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
  return {charged = tonumber(redis.call('HGET', CHARGES, 'units') or 0), reserved = sumOf('units ' .. request.period)}
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
  -- An older operator, which knows fewer limits than the caller, may have written them.
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

-- The charged renders are in the same key as the sum, and kept as long. So after any loss, completing all renders again gives the same
-- sum. Each render is stored as the last 13 characters of its id, under a field of two more random characters.
local function bucketOf(id)
  return string.sub(id, 12, 13), string.sub(id, 14) .. ','
end

local function isCharged(id)
  local bucket, entry = bucketOf(id)
  local entries = redis.call('HGET', CHARGES, bucket)
  return entries and string.find(entries, entry, 1, true) ~= nil
end

-- The codes of the counted templates are in one field: reading all fields would also read all charged renders.
local function countedTemplates()
  local codes = {}
  for code in string.gmatch(redis.call('HGET', CHARGES, 'templates') or '', '%S+') do codes[#codes + 1] = code end
  return codes
end

-- What this call adds to the sums. They are written once, because charges of many renders add to the same ones.
local added = {}

local function addTo(field, amount)
  added[field] = (added[field] or 0) + amount
end

local function countUnder(name, units)
  addTo('renders ' .. name, 1)
  addTo('units ' .. name, units)
end

local function countTemplate(code, units)
  local name = 'template ' .. code
  if not added['renders ' .. name] and redis.call('HEXISTS', CHARGES, 'renders ' .. name) == 0 then
    local codes = countedTemplates()
    if #codes >= request.templatesMax then return end
    codes[#codes + 1] = code
    redis.call('HSET', CHARGES, 'templates', table.concat(codes, ' '))
  end
  countUnder(name, units)
end

-- What is charged under each of these names, of a template or a day. Leaves out those without a charge.
local function countsOf(kind, names)
  local counts = {}
  for _, name in ipairs(names) do
    local field = kind .. ' ' .. name
    local renders, units = unpack(redis.call('HMGET', CHARGES, 'renders ' .. field, 'units ' .. field))
    if renders then counts[#counts + 1] = {name = name, renders = tonumber(renders), units = tonumber(units)} end
  end
  return counts
end

local function daysOfMonth()
  local days = {}
  for day = 1, 31 do days[day] = string.format('%02d', day) end
  return days
end

local function charge(ended)
  local bucket, entry = bucketOf(ended.id)
  redis.call('HSET', CHARGES, bucket, (redis.call('HGET', CHARGES, bucket) or '') .. entry)
  addTo('units', ended.units)
  countTemplate(ended.template, ended.units)
  countUnder('day ' .. ended.day, ended.units)
end

local function writeSums(id)
  for field, amount in pairs(added) do redis.call('HINCRBY', CHARGES, field, amount) end
  redis.call('HSETNX', CHARGES, 'count', id .. '-' .. now)
  redis.call('PEXPIRE', CHARGES, request.chargeKeptMs)
end

local function hasEnded(id)
  return isCharged(id) or redis.call('SISMEMBER', ENDED, id) == 1
end

-- The confirmation from the queue may arrive after the render has ended. What its reservation holds stays as it is.
local function confirm(render)
  if hasEnded(render.id) then return nil end
  if redis.call('HEXISTS', HOLDINGS, render.id) == 0 then return hold(render.id, render) end
  redis.call('ZADD', LAPSES, now + request.holdMs, render.id)
end

function operations.confirm()
  releaseExpired()
  for _, render in ipairs(request.renders) do confirm(render) end
  keepHoldings()
end

-- Without `units` the render is free.
local function complete(ended)
  if hasEnded(ended.id) then return nil end
  local holding = release(ended.id)
  for i = 6, #KEYS do
    if holding and holding.entry and redis.call('HINCRBY', KEYS[i], holding.entry.second, -1) <= 0 then
      redis.call('HDEL', KEYS[i], holding.entry.second)
    end
  end
  if ended.units then return charge(ended) end
  redis.call('SADD', ENDED, ended.id)
  redis.call('PEXPIRE', ENDED, request.keptMs)
end

function operations.complete()
  releaseExpired()
  for _, ended in ipairs(request.ends) do complete(ended) end
  if next(added) then writeSums(request.ends[1].id) end
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

function operations.chargeTotal()
  return {charged = tonumber(redis.call('HGET', CHARGES, 'units') or 0), count = redis.call('HGET', CHARGES, 'count') or nil}
end

local answer = operations[request.operation]()
return answer and cjson.encode(answer)
