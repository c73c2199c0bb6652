-- Erases a subject and leaves a mark that refuses what was loaded before.
--
-- KEYS: erased, then every key of the subject that holds data
-- ARGV: how long the mark stays, in ms
-- Returns the server time of the erasure in Unix ms.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], now, 'PX', ARGV[1])
redis.call('DEL', unpack(KEYS, 2))
return now
