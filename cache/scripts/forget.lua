-- Erases a subject and leaves a mark that refuses what was loaded before.
--
-- KEYS: erased, sequence, then every key of the subject that holds data
-- ARGV: how long the mark stays, in ms, channel, tag
-- Returns the server time of the erasure in us.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('SET', KEYS[1], string.format('%.0f', now), 'PX', ARGV[1])
redis.call('DEL', unpack(KEYS, 3))
local sequence = redis.call('INCR', KEYS[2])
redis.call('PUBLISH', ARGV[2], 'x' .. struct.pack('>I8I8', sequence, now) .. ARGV[3])
return now
