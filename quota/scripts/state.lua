-- What is known of one provider lies in one hash, so that it is there as a
-- whole or not at all. Times are microseconds of the server's clock; numbers
-- are written in full, because Lua would round them.
local key = KEYS[1]
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

-- How late a booked call may begin, where lateness makes calls bunch.
local late = 25000
local shapes = {}

local state, written, dropped = {}, {}, {}
do
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do state[flat[i]] = flat[i + 1] end
end

local function int(x) return string.format('%.0f', x) end

local function numbers(text)
  local all = {}
  for word in string.gmatch(text or '', '%S+') do all[#all + 1] = tonumber(word) end
  return all
end

local function put(field, value)
  state[field] = value
  written[#written + 1] = field
end

local function drop(field)
  state[field] = nil
  dropped[#dropped + 1] = field
end

local function save()
  if #dropped > 0 then redis.call('HDEL', key, unpack(dropped)) end
  local args = {}
  for _, field in ipairs(written) do
    args[#args + 1] = field
    args[#args + 1] = state[field]
  end
  if #args > 0 then redis.call('HSET', key, unpack(args)) end
end

-- The guard in force: at least what is configured, and what surprises made of
-- it, halved for every calm hour.
local function guard_now(configured)
  local grown = numbers(state.guard)
  if #grown == 0 then return configured end
  local calm = math.floor((now - grown[2]) / 3600e6)
  return math.max(configured, math.floor(grown[1] / 2 ^ calm))
end

-- The pause in force: its end (0: none but an operator's act) and its reason.
local function pause_now()
  local till, reason = string.match(state.pause or '', '^(%d+) (%S+)$')
  if not reason then return -1, '' end
  till = tonumber(till)
  if till > 0 and till <= now then return -1, '' end
  return till, reason
end

-- A surprise makes the guard grow, once for all refusals of about the same time.
local function grow_guard(configured)
  local grown = numbers(state.guard)
  if grown[2] and now - grown[2] < 1e6 then return end
  put('guard', int(math.min(5e6, 2 * guard_now(configured) + 150000)) .. ' ' .. int(now))
end
