-- The state of one render. It counts attempts and grants claims, because all renderers share Redis.
-- KEYS[1]  hash: view (id, template, time of acceptance and labels, as JSON) once the render was marked as queued or has ended; claimed (the same
--          from a claim); attempts; returned (attempts that were given back); owner and lapse (end) of the claim; outcome (as JSON);
--          canceled, if the render is to be ended
local RENDER = KEYS[1]

local function get(field)
  return redis.call('HGET', RENDER, field)
end

local function isHeldBy(owner, fence)
  return get('owner') == owner and tonumber(get('attempts')) == fence
end

local operations = {}

-- Of each key, ARGV has the view.
function operations.markQueued()
  for i, key in ipairs(KEYS) do
    if redis.call('HSETNX', key, 'view', ARGV[i + 1]) == 1 then redis.call('PEXPIRE', key, request.keptMs) end
  end
end

-- Every claim is an attempt, so the number of the attempt is the fence. A render without `view` may have ended before Redis lost it.
function operations.claim()
  if get('outcome') then return {kind = 'settled'} end
  local owner, lapse, attempts = get('owner'), tonumber(get('lapse') or 0), tonumber(get('attempts') or 0)
  if owner and owner ~= request.owner and lapse > now then return {kind = 'held', ['until'] = lapse} end
  local counted = attempts - tonumber(get('returned') or 0)
  if counted >= request.attemptsMax then return {kind = 'exhausted', attempts = counted} end
  redis.call('HSET', RENDER, 'attempts', attempts + 1, 'owner', request.owner, 'lapse', now + request.leaseMs)
  redis.call('HSETNX', RENDER, 'claimed', request.view)
  redis.call('PEXPIRE', RENDER, request.keptMs)
  local claim = {id = request.id, fence = attempts + 1, attempt = attempts + 1}
  return {kind = 'granted', claim = claim, isCanceled = get('canceled') and true or nil}
end

-- Redis may have come back empty, or older than the claim. The holder then keeps its claim and continues.
function operations.renew()
  local isUnknown = not get('outcome') and not get('attempts')
  if not isUnknown and not isHeldBy(request.owner, request.fence) then return false end
  redis.call('HSET', RENDER, 'attempts', request.fence, 'owner', request.owner, 'lapse', now + request.leaseMs)
  redis.call('PEXPIRE', RENDER, request.keptMs)
  return true
end

function operations.release()
  if not isHeldBy(request.owner, request.fence) then return nil end
  redis.call('HINCRBY', RENDER, 'returned', 1)
  redis.call('HDEL', RENDER, 'owner', 'lapse')
end

function operations.cancel()
  if get('outcome') then return false end
  redis.call('HSET', RENDER, 'canceled', 1)
  redis.call('PEXPIRE', RENDER, request.keptMs)
  return tonumber(get('lapse') or 0) > now
end

function operations.isCanceled()
  return get('canceled') ~= false
end

-- Of each key, ARGV has the view and the outcome.
function operations.complete()
  for i, key in ipairs(KEYS) do
    local outcome, owner = unpack(redis.call('HMGET', key, 'outcome', 'owner'))
    if not outcome then
      redis.call('HSET', key, 'view', ARGV[2 * i], 'outcome', ARGV[2 * i + 1])
      if owner then redis.call('HDEL', key, 'owner', 'lapse') end
      redis.call('PEXPIRE', key, request.keptMs)
      redis.call('PUBLISH', request.channel, request.ids[i])
    end
  end
end

function operations.find()
  local view, claimed, attempts = get('view'), get('claimed'), tonumber(get('attempts') or 0)
  if view then
    return {view = view, attempts = attempts, outcome = get('outcome') or nil, mayHaveEnded = get('canceled') and true or nil}
  end
  return claimed and {view = claimed, attempts = attempts, mayHaveEnded = true} or nil
end

local answer = operations[request.operation]()
if answer ~= nil then return cjson.encode(answer) end
