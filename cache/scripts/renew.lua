-- Prolongs a lease that is still held.
--
-- KEYS: lease
-- ARGV: token, how long it lasts in ms
-- Returns 1 if it was held.
if string.sub(redis.call('GET', KEYS[1]) or '', 1, #ARGV[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
