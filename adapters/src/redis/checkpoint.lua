-- How far the views in this Redis include the event log.
-- KEYS  1 hash: `beginning`, `partitions` (how many), and of each partition the next offset, under `<partition>:before` that offset with
--         the fingerprint of the event before it, under `caughtUp:<partition>` the server that has it all
--       2 hash: account -> units charged in a month
local CHECKPOINTS, CHARGED = KEYS[1], KEYS[2]

-- A Redis that was restarted, or that replaced another, may have lost data that it had acknowledged.
local function server()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
end

local function fence()
  return (redis.call('HGET', CHECKPOINTS, 'beginning') or '') .. ' ' .. server()
end

local function before()
  return request.partition .. ':before'
end

-- A version that does not know fingerprints moves the offset alone.
local function fingerprint(offset)
  local at, found = string.match(redis.call('HGET', CHECKPOINTS, before()) or '', '^(%d+) (%x+)$')
  return tonumber(at) == offset and found or nil
end

-- Reads and writes many accounts in one call, because a call takes longer than what it does. Lua passes some thousand arguments at most.
local function raiseCharged()
  local names = {}
  for name in pairs(request.charged) do names[#names + 1] = name end
  for from = 1, #names, 1000 do
    local to, raised = math.min(from + 999, #names), {}
    for i, known in ipairs(redis.call('HMGET', CHARGED, unpack(names, from, to))) do
      local name = names[from + i - 1]
      if request.charged[name] > tonumber(known or 0) then
        raised[#raised + 1] = name
        raised[#raised + 1] = request.charged[name]
      end
    end
    if #raised > 0 then redis.call('HSET', CHARGED, unpack(raised)) end
  end
  if #names > 0 then redis.call('PEXPIRE', CHARGED, request.keptMs) end
end

local operations = {}

function operations.begin()
  local time = redis.call('TIME')
  redis.call('HSETNX', CHECKPOINTS, 'beginning', server() .. '-' .. time[1] .. '-' .. time[2])
  local offset = tonumber(redis.call('HGET', CHECKPOINTS, request.partition) or -1)
  if offset < request.first or offset > (request['end'] or offset) then
    offset = request.first
    redis.call('HSET', CHECKPOINTS, request.partition, offset)
  end
  if request.partitions then redis.call('HSET', CHECKPOINTS, 'partitions', request.partitions) end
  return {partition = request.partition, offset = offset, fingerprint = fingerprint(offset), fence = fence()}
end

function operations.advance()
  local offset = redis.call('HGET', CHECKPOINTS, request.partition)
  if fence() ~= request.fence or tonumber(offset or -1) ~= request.offset then return nil end
  if request.to ~= request.offset then
    redis.call('HSET', CHECKPOINTS, request.partition, request.to)
    if request.fingerprint then redis.call('HSET', CHECKPOINTS, before(), request.to .. ' ' .. request.fingerprint) end
  end
  if request.isCaughtUp then redis.call('HSET', CHECKPOINTS, 'caughtUp:' .. request.partition, server()) end
  raiseCharged()
  return {partition = request.partition, offset = request.to, fingerprint = request.fingerprint, fence = request.fence}
end

function operations.isComplete()
  local partitions, current = tonumber(redis.call('HGET', CHECKPOINTS, 'partitions') or 0), server()
  for partition = 0, partitions - 1 do
    if redis.call('HGET', CHECKPOINTS, 'caughtUp:' .. partition) ~= current then return false end
  end
  return partitions > 0
end

function operations.charged()
  local flat, units = redis.call('HGETALL', CHARGED), {}
  for i = 1, #flat, 2 do units[#units + 1] = {flat[i], tonumber(flat[i + 1])} end
  return {beginning = redis.call('HGET', CHECKPOINTS, 'beginning') or '', units = units}
end

function operations.forget()
  if redis.call('HGET', CHECKPOINTS, 'beginning') == request.beginning then redis.call('DEL', CHECKPOINTS, CHARGED) end
end

local answer = operations[request.operation]()
if answer ~= nil then return cjson.encode(answer) end
