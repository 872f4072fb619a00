-- What is known of one render. Its attempts are counted and its claims granted here, where all renderers meet.
-- KEYS[1]  hash: view (id, template and acceptance, as JSON), attempts, owner and lapse of the claim, outcome (as JSON)
local RENDER = KEYS[1]

local function get(field)
  return redis.call('HGET', RENDER, field)
end

local operations = {}

function operations.open()
  if redis.call('HSETNX', RENDER, 'view', request.view) == 1 then redis.call('PEXPIRE', RENDER, request.keptMs) end
end

-- The fence is the number of the attempt, as every claim is one.
function operations.claim()
  operations.open()
  if get('outcome') then return {kind = 'settled'} end
  local owner, lapse, attempts = get('owner'), tonumber(get('lapse') or 0), tonumber(get('attempts') or 0)
  if owner and owner ~= request.owner and lapse > now then return {kind = 'held', ['until'] = lapse} end
  if attempts >= request.attemptsMax then return {kind = 'exhausted', attempts = attempts} end
  redis.call('HSET', RENDER, 'attempts', attempts + 1, 'owner', request.owner, 'lapse', now + request.leaseMs)
  return {kind = 'granted', claim = {id = request.id, fence = attempts + 1, attempt = attempts + 1}}
end

function operations.renew()
  if get('owner') ~= request.owner or tonumber(get('attempts')) ~= request.fence then return false end
  redis.call('HSET', RENDER, 'lapse', now + request.leaseMs)
  return true
end

function operations.settle()
  if get('outcome') then return nil end
  redis.call('HSET', RENDER, 'view', request.view, 'outcome', request.outcome)
  redis.call('HDEL', RENDER, 'owner', 'lapse')
  redis.call('PEXPIRE', RENDER, request.keptMs)
end

function operations.find()
  local view = get('view')
  return view and {view = view, attempts = tonumber(get('attempts') or 0), outcome = get('outcome') or nil} or nil
end

local answer = operations[request.operation]()
if answer ~= nil then return cjson.encode(answer) end
