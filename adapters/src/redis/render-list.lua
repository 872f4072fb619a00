-- The renders of one account and environment, or their deliveries. All scores are 0, so that members are in the order of their bytes, and
-- ids in that of time.
-- KEYS  1 sorted set of entries: id, a letter for the status, one for the engine, the rest as JSON (t template, x when it expires, f when it
--         finished, b bytes, c code of its failure, r reference, m metadata, g batch)
--       2 sorted set that says where to find them: a hash of the template and reference that a filter names, or of the batch, then status,
--         engine, id
--       3 sorted set of removed ids, by when they are forgotten      4 the estimated bytes of all this
local ENTRIES, INDEX, REMOVED, BYTES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ID, HASH = 26, 12
-- Of the states of a render, and of its delivery: that is listed in the same way, under keys of its own.
local RANK = {q = 0, r = 1, s = 2, f = 2, w = 2, d = 2, x = 2, g = 2, b = 2}
-- What Redis needs for a member besides its text: measured, and rounded up.
local MEMBER_BYTES = 110
-- Entries examined for removal with each that is added: more than one, so that it catches up.
local SWEPT = 4

-- A collision shows a render that was not asked for, so `page` compares.
local function hashOf(template, reference)
  return string.sub(redis.sha1hex((template or '') .. '\0' .. (reference or '')), 1, HASH)
end

-- No template has a space.
local function hashOfBatch(batch)
  return hashOf('batch ' .. batch)
end

local function rest(entry)
  return cjson.decode(string.sub(entry, ID + 3))
end

-- One for each way to name its template, its reference, both or neither, and one for its batch.
local function indexed(entry)
  local fields, id, letters = rest(entry), string.sub(entry, 1, ID), string.sub(entry, ID + 1, ID + 2)
  local hashes = {hashOf(), hashOf(fields.t)}
  if fields.r then
    hashes[3], hashes[4] = hashOf(nil, fields.r), hashOf(fields.t, fields.r)
  end
  if fields.g then hashes[#hashes + 1] = hashOfBatch(fields.g) end
  for i, hash in ipairs(hashes) do hashes[i] = hash .. letters .. id end
  return hashes
end

local function bytesOf(entry, members)
  return #entry + MEMBER_BYTES + #members * (HASH + 2 + ID + MEMBER_BYTES)
end

local function add(entry)
  local members = indexed(entry)
  redis.call('ZADD', ENTRIES, 0, entry)
  for _, member in ipairs(members) do redis.call('ZADD', INDEX, 0, member) end
  redis.call('INCRBY', BYTES, bytesOf(entry, members))
end

local function drop(entry)
  local members = indexed(entry)
  redis.call('ZREM', ENTRIES, entry)
  redis.call('ZREM', INDEX, unpack(members))
  redis.call('DECRBY', BYTES, bytesOf(entry, members))
end

local function find(id)
  return redis.call('ZRANGEBYLEX', ENTRIES, '[' .. id, '[' .. id .. '~', 'LIMIT', 0, 1)[1]
end

local function isExpired(entry)
  return rest(entry).x <= now
end

-- The oldest go when they have expired, or when all together are too large.
local function sweep()
  for _ = 1, SWEPT do
    local oldest = redis.call('ZRANGE', ENTRIES, 0, 0)[1]
    if not oldest then return end
    if not isExpired(oldest) and tonumber(redis.call('GET', BYTES) or 0) <= request.bytesMax then return end
    drop(oldest)
  end
end

-- All keys last as long as the entry that lasts longest.
local function keep(expiresAt)
  if expiresAt - now <= redis.call('PTTL', ENTRIES) then return end
  for _, key in ipairs({ENTRIES, INDEX, BYTES}) do redis.call('PEXPIRE', key, expiresAt - now) end
end

local operations = {}

local function put(listed)
  if listed.expiresAt <= now or redis.call('ZSCORE', REMOVED, listed.id) then return end
  local known, fields = find(listed.id), listed.fields
  if known then
    local status = string.sub(known, ID + 1, ID + 1)
    if RANK[status] >= RANK[listed.status] then return end
    -- A record that comes from the queue may lack what it was accepted with.
    if RANK[listed.status] < RANK.s then fields = string.sub(known, ID + 3) end
    drop(known)
  end
  add(listed.id .. listed.status .. listed.engine .. fields)
  keep(listed.expiresAt)
  sweep()
end

function operations.put()
  for _, listed in ipairs(request.listed) do put(listed) end
end

-- Shows each as it is now, whatever was shown.
function operations.replace()
  for _, listed in ipairs(request.listed) do
    local known = find(listed.id)
    if known and not redis.call('ZSCORE', REMOVED, listed.id) then drop(known) end
    put(listed)
  end
end

function operations.cancel()
  local known = find(request.id)
  if not known or RANK[string.sub(known, ID + 1, ID + 1)] >= RANK[request.status] then return end
  local fields = rest(known)
  for name, value in pairs(request.fields) do fields[name] = value end
  drop(known)
  add(request.id .. request.status .. string.sub(known, ID + 2, ID + 2) .. cjson.encode(fields))
  keep(fields.x)
end

function operations.remove()
  local known = find(request.id)
  if known then drop(known) end
  redis.call('ZREMRANGEBYSCORE', REMOVED, '-inf', now)
  redis.call('ZADD', REMOVED, now + request.keptMs, request.id)
  redis.call('PEXPIRE', REMOVED, request.keptMs)
end

function operations.isSettled()
  local known = find(request.id)
  if known and RANK[string.sub(known, ID + 1, ID + 1)] == RANK.s then return true end
  return redis.call('ZSCORE', REMOVED, request.id) ~= false
end

-- Entries from the newest on, one more than the limit.
local function newest()
  local from, below, count = request.from, request.below, request.limit + 1
  if not request.letters then
    return redis.call('ZREVRANGEBYLEX', ENTRIES, '(' .. below, '[' .. from, 'LIMIT', 0, count)
  end
  -- A batch has few renders: other filters choose among those of a page.
  local hash, found = request.batch and hashOfBatch(request.batch) or hashOf(request.template, request.reference), {}
  for _, letters in ipairs(request.letters) do
    local prefix = hash .. letters
    local range = {'(' .. prefix .. below, '[' .. prefix .. from, 'LIMIT', 0, count}
    for _, member in ipairs(redis.call('ZREVRANGEBYLEX', INDEX, unpack(range))) do
      found[#found + 1] = string.sub(member, HASH + 3)
    end
  end
  table.sort(found, function(a, b) return a > b end)
  local entries = {}
  for i = 1, math.min(#found, count) do entries[i] = find(found[i]) end
  return entries
end

function operations.page()
  local entries, kept, next = newest(), {}, nil
  if #entries > request.limit then
    next = string.sub(entries[request.limit], 1, ID)
    entries[request.limit + 1] = nil
  end
  for _, entry in ipairs(entries) do
    local fields = rest(entry)
    local isMeant = (request.template or fields.t) == fields.t and (request.reference or fields.r) == fields.r
      and (request.batch or fields.g) == fields.g
    if isMeant and fields.x > now then kept[#kept + 1] = entry end
    -- It may be among entries that are kept for longer, where no sweep comes.
    if fields.x <= now then drop(entry) end
  end
  return {entries = kept, next = next}
end

-- The renders of a batch in each state.
function operations.count()
  local hash, counts = hashOfBatch(request.batch), {}
  for i, letter in ipairs(request.letters) do
    counts[i] = 0
    for _, engine in ipairs(request.engines) do
      local prefix = hash .. letter .. engine
      counts[i] = counts[i] + redis.call('ZLEXCOUNT', INDEX, '[' .. prefix, '[' .. prefix .. '~')
    end
  end
  return counts
end

local answer = operations[request.operation]()
if answer ~= nil then return cjson.encode(answer) end
