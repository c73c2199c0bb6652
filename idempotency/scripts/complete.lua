-- Keeps an answer: KEYS[1], ARGV answer, milliseconds. The first answer stays and
-- is returned; so is the lock of another request. Else it returns nil.
local held = redis.call('GET', KEYS[1])
if held and (held:sub(1, 1) == 'A' or held:sub(2, 33) ~= ARGV[1]:sub(2, 33)) then
  return held
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
