-- A purse is a cap on money in one period: how much of it each replica was
-- allowed to spend. What a replica says of itself holds, so that a state that
-- was lost comes back; what it knew of the others then counts as spent.
--   ARGV: replica, beginning of the period, cap, the replica's allowance now,
--         all allowances as it last knew them, how much more it needs, and how
--         much more it would like.
-- The reply is { allowance, all allowances }.
local key, replica = KEYS[1], ARGV[1]
local start, cap, mine, known, need, like =
  ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local all, lost = 0, 0
if redis.call('HGET', key, 'start') ~= start then
  redis.call('DEL', key)
  redis.call('HSET', key, 'start', start)
  lost = math.max(0, known - mine)
  if lost > 0 then redis.call('HSET', key, 'lost', string.format('%.0f', lost)) end
end
local flat = redis.call('HGETALL', key)
for i = 1, #flat, 2 do
  if flat[i] ~= 'start' and flat[i] ~= 'r:' .. replica then all = all + tonumber(flat[i + 1]) end
end
all = all + mine

local left = cap - all
if need > 0 and left >= need then
  -- While plenty is left a replica gets some in advance; the last tenth is given
  -- out exactly.
  local give = need
  if left - like > cap / 10 then give = math.max(need, like) end
  mine, all = mine + give, all + give
end
redis.call('HSET', key, 'r:' .. replica, string.format('%.0f', mine))
redis.call('EXPIRE', key, 32 * 24 * 3600)
return { mine, all }
