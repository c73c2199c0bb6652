-- Ends a lease that brought nothing, and tells those who wait.
--
-- KEYS: sequence, lease, lease of who overtakes
-- ARGV: token, channel, tag
-- Returns 1 if it was held.
for i = 2, 3 do
  if redis.call('GET', KEYS[i]) == ARGV[1] then
    redis.call('DEL', KEYS[i])
    local sequence = redis.call('INCR', KEYS[1])
    redis.call('PUBLISH', ARGV[2], 'r' .. struct.pack('>I8I8', sequence, 0) .. ARGV[3])
    return 1
  end
end
return 0
