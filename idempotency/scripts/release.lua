-- Removes a value: KEYS[1], ARGV value. Another one stays.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
