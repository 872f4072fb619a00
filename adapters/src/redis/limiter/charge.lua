-- The charges of one account in one month. Their sums and the charged renders are in one key, so they are lost together: after any loss,
-- completing all renders again gives the same sums.
-- KEYS  4 the charges
-- Fields: `units` (the sum of all), `count` (a name of this count; a count that begins after a loss has another name), sums by template and
-- by day, `templates` (the codes of the counted ones: reading all fields would also read all charged renders), and the charged renders in
-- buckets. A bucket is a string of entries of equal length. An entry is made of the last 15 characters of an id, which are random.
local CHARGES = KEYS[4]

-- How many renders a bucket has on average, and the bytes of an entry.
local BUCKET_RENDERS, ENTRY_BYTES = 64, 10

-- Read and written once in a call, however many renders it charges, because a call of Redis takes longer than what it does.
local units, count
local bucketCount, renderCount, bucketPower = 1, 0, 1
local entriesOf, placeOf, isChanged = {}, {}, {}

-- The lowest power of two that is not below a number of buckets.
local function powerFor(number)
  local power = 1
  while power < number do power = power * 2 end
  return power
end

-- Linear hashing: there are so many buckets that each has few renders, so a charge costs the same whatever the month has. The
-- caller made two numbers of the id: of the nine characters, and of the six after them, which tell the bucket.
local function placeOfRender(render)
  local high, low = render.tail[1], render.tail[2]
  local bucket = low % bucketPower
  if bucket >= bucketCount then bucket = low % (bucketPower / 2) end
  return string.format('%d', bucket), struct.pack('>I4I6', low, high)
end

-- Reads the buckets of these renders.
local function readCharges(renders)
  local known = redis.call('HMGET', CHARGES, 'units', 'count', 'buckets', 'renders')
  units, count = tonumber(known[1] or 0), known[2]
  bucketCount, renderCount = tonumber(known[3] or 1), tonumber(known[4] or 0)
  bucketPower = powerFor(bucketCount)
  local names = {}
  for _, render in ipairs(renders) do
    local bucket, entry = placeOfRender(render)
    placeOf[render.id] = {bucket = bucket, entry = entry}
    if not entriesOf[bucket] then
      entriesOf[bucket] = ''
      names[#names + 1] = bucket
    end
  end
  for i, entries in ipairs(redis.call('HMGET', CHARGES, unpack(names))) do entriesOf[names[i]] = entries or '' end
end

-- Whether a render is charged. Its bucket was read.
local function isCharged(id)
  local entries, entry = entriesOf[placeOf[id].bucket], placeOf[id].entry
  local at = string.find(entries, entry, 1, true)
  -- The end of one entry and the beginning of the next may look like an entry.
  while at and at % ENTRY_BYTES ~= 1 do at = string.find(entries, entry, at + 1, true) end
  return at ~= nil
end

-- What this call adds to the sums by template and by day, in the order of the renders.
local added, addedTo = {}, {}

local function addTo(name, amount)
  local sum = addedTo[name]
  if not sum then
    sum = {name = name, renders = 0, units = 0}
    added[#added + 1], addedTo[name] = sum, sum
  end
  sum.renders, sum.units = sum.renders + 1, sum.units + amount
end

-- Charges a render that is not charged. Its bucket was read.
local function charge(ended)
  local place = placeOf[ended.id]
  entriesOf[place.bucket], isChanged[place.bucket] = entriesOf[place.bucket] .. place.entry, true
  units, renderCount, count = units + ended.units, renderCount + 1, count or ended.id .. '-' .. now
  addTo('template ' .. ended.template, ended.units)
  addTo('day ' .. ended.day, ended.units)
end

-- Adds a bucket, and moves its share into it from the one that has had it.
local function addBucket()
  local power = powerFor(bucketCount + 1)
  local from, to = string.format('%d', bucketCount - power / 2), string.format('%d', bucketCount)
  local entries, staying, moving = entriesOf[from] or redis.call('HGET', CHARGES, from) or '', {}, {}
  for at = 1, #entries, ENTRY_BYTES do
    local part = struct.unpack('>I4', entries, at) % power == bucketCount and moving or staying
    part[#part + 1] = string.sub(entries, at, at + ENTRY_BYTES - 1)
  end
  entriesOf[from], entriesOf[to] = table.concat(staying), table.concat(moving)
  isChanged[from], isChanged[to] = true, true
  bucketCount = bucketCount + 1
end

local function countedTemplates()
  local codes = {}
  for code in string.gmatch(redis.call('HGET', CHARGES, 'templates') or '', '%S+') do codes[#codes + 1] = code end
  return codes
end

-- The changed fields, by turns with their values.
local written = {}

local function write(field, value)
  written[#written + 1] = field
  written[#written + 1] = value
end

-- Templates beyond the most that are counted have no sums.
local function writeSums()
  local fields, codes = {}, nil
  for i, sum in ipairs(added) do fields[2 * i - 1], fields[2 * i] = 'renders ' .. sum.name, 'units ' .. sum.name end
  local known = redis.call('HMGET', CHARGES, unpack(fields))
  for i, sum in ipairs(added) do
    local code = not known[2 * i] and string.match(sum.name, '^template (.*)')
    if code then codes = codes or countedTemplates() end
    if not code or #codes < request.templatesMax then
      if code then codes[#codes + 1] = code end
      write(fields[2 * i - 1], (known[2 * i - 1] or 0) + sum.renders)
      write(fields[2 * i], (known[2 * i] or 0) + sum.units)
    end
  end
  if codes then write('templates', table.concat(codes, ' ')) end
end

local function writeCharges()
  writeSums()
  write('units', units)
  write('count', count)
  while renderCount > bucketCount * BUCKET_RENDERS do addBucket() end
  write('buckets', bucketCount)
  write('renders', renderCount)
  for bucket in pairs(isChanged) do write(bucket, entriesOf[bucket]) end
  -- Lua passes some thousand arguments at most.
  for from = 1, #written, 1000 do
    redis.call('HSET', CHARGES, unpack(written, from, math.min(from + 999, #written)))
  end
  redis.call('PEXPIRE', CHARGES, request.chargeKeptMs)
end

-- What is charged under each of these names, of a template or a day. Leaves out those without a charge.
local function countsOf(kind, all)
  local counts = {}
  for _, name in ipairs(all) do
    local field = kind .. ' ' .. name
    local renders, sum = unpack(redis.call('HMGET', CHARGES, 'renders ' .. field, 'units ' .. field))
    if renders then counts[#counts + 1] = {name = name, renders = tonumber(renders), units = tonumber(sum)} end
  end
  return counts
end

local function daysOfMonth()
  local days = {}
  for day = 1, 31 do days[day] = string.format('%02d', day) end
  return days
end

local function chargeTotal()
  if not units then units, count = unpack(redis.call('HMGET', CHARGES, 'units', 'count')) end
  return {charged = tonumber(units or 0), count = count or nil}
end

