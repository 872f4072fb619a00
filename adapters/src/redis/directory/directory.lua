-- The settings of all tenants. One publisher writes them, and many processes follow them.
-- KEYS  1 meta: schema, epoch, revision, mark (the unique id of this revision), entry (its id in the log), since (when reports of
--         readers began to be kept; readers report repeatedly, so all are known a while later)
--       2-4 tenants, keys, templates: name -> value, as JSON      5 log of the last revisions, each with its changes
--       6 readers: process -> the revision that it enforces, or the ids of its seal keys      7-9 staged replacements of 2-4
-- All keys are in one hash slot.
local META, LOG, READERS = KEYS[1], KEYS[5], KEYS[6]
local HASHES = {tenants = KEYS[2], keys = KEYS[3], templates = KEYS[4]}
local STAGED = {tenants = KEYS[7], keys = KEYS[8], templates = KEYS[9]}

local function meta(name)
  return redis.call('HGET', META, name)
end

-- Returns 0 also for a damaged value. cjson writes smaller numbers exactly.
local function number(name)
  local value = tonumber(meta(name)) or 0
  return value < 1e14 and value or 0
end

local function epoch()
  return number('epoch')
end

-- The id of the current revision. Readers ignore a revision without an id in the log.
local function current()
  return meta('entry') and meta('mark') or nil
end

-- Makes the revision the current one. `replaced` is the id of the one before it, '' if there was none.
local function commit(changes, kept)
  local replaced = current() or ''
  local entry = redis.call(
    'XADD', LOG, 'MAXLEN', '=', kept, '*',
    'mark', request.mark, 'after', meta('mark') or '', 'revision', request.revision, 'changes', changes
  )
  redis.call(
    'HSET', META, 'schema', request.schema, 'epoch', request.epoch, 'revision', request.revision,
    'mark', request.mark, 'entry', entry
  )
  return {kind = 'published', replaced = replaced}
end

-- Why the request must not be published, or that it is published already: a call is sent again if its connection breaks before the
-- answer.
local function refusal()
  if epoch() > request.epoch then return {kind = 'fenced', epoch = epoch()} end
  if meta('mark') == request.mark then return {kind = 'published'} end
end

local operations = {}

function operations.claim()
  local claimed = request.epoch or epoch() + 1
  if claimed < epoch() then return {kind = 'fenced', epoch = epoch()} end
  redis.call('HSET', META, 'epoch', claimed)
  redis.call('HSETNX', META, 'since', now)
  return {
    kind = 'claimed', epoch = claimed, now = now, schema = number('schema'), revision = number('revision'), mark = current(),
  }
end

function operations.change()
  local refused = refusal()
  if refused then return refused end
  if meta('mark') ~= request.after then return {kind = 'stale'} end
  for kind, fields in pairs(cjson.decode(request.changes)) do
    for field, value in pairs(fields) do
      if value == cjson.null then
        redis.call('HDEL', HASHES[kind], field)
      else
        redis.call('HSET', HASHES[kind], field, value)
      end
    end
  end
  return commit(request.changes, request.kept)
end

function operations.replace()
  local refused = refusal()
  if refused then return refused end
  if number('revision') > request.revision then return {kind = 'stale'} end
  for kind, count in pairs(request.counts) do
    if redis.call('HLEN', STAGED[kind]) ~= count then return {kind = 'incomplete'} end
  end
  for kind, count in pairs(request.counts) do
    -- Unlinked first, because renaming over a large hash frees it at once and blocks Redis.
    redis.call('UNLINK', HASHES[kind])
    if count > 0 then
      redis.call('RENAME', STAGED[kind], HASHES[kind])
      redis.call('PERSIST', HASHES[kind])
    end
  end
  return commit('', 1)
end

function operations.leave()
  redis.call('HDEL', READERS, request.reader)
end

-- The reports of readers that are still connected.
function operations.readers()
  local flat, reports = redis.call('HGETALL', READERS), {}
  for i = 1, #flat, 2 do
    local report = cjson.decode(flat[i + 1])
    if now - report.at < request.reportedMs then
      reports[#reports + 1] = report
    else
      redis.call('HDEL', READERS, flat[i])
    end
  end
  local knownMs = now - (tonumber(meta('since')) or now)
  return {count = #reports, reports = reports, epoch = epoch(), knownMs = knownMs, now = now}
end

-- Returns the number of readers.
function operations.report()
  local report = {mark = request.mark, revision = request.revision, sealKeys = request.sealKeys, at = now}
  redis.call('HSET', READERS, request.reader, cjson.encode(report))
  redis.call('PEXPIRE', READERS, request.reportedMs)
  return operations.readers().count
end

local answer = operations[request.operation]()
return answer and cjson.encode(answer)
