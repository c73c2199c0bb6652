-- Locks a free key: KEYS[1], ARGV lock, milliseconds. Returns nil when it is
-- locked now, else what the key holds.
local held = redis.call('GET', KEYS[1])
if held then
  return held
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
