-- Prolongs a lease that is still held.
--
-- KEYS: lease, lease of who overtakes
-- ARGV: token, how long it lasts in ms
-- Returns 1 if it was held.
for _, lease in ipairs(KEYS) do
  if redis.call('GET', lease) == ARGV[1] then return redis.call('PEXPIRE', lease, ARGV[2]) end
end
return 0
