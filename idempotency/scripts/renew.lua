-- Prolongs a lock: KEYS[1], ARGV lock, milliseconds. Returns 0 when it is lost.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
