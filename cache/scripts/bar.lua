-- Bars what a provider said until now.
--
-- KEYS: barriers
-- ARGV: provider, channel
-- Returns the server time in us.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now))
redis.call('PUBLISH', ARGV[2], 'b')
return now
