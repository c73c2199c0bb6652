-- Ends a lease that brought nothing, and tells those who wait.
--
-- KEYS: lease, sequence
-- ARGV: token, channel, tag
-- Returns 1 if it was held.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
local sequence = redis.call('INCR', KEYS[2])
redis.call('PUBLISH', ARGV[2], 'r' .. struct.pack('>I8I8', sequence, 0) .. ARGV[3])
return 1
