-- Ends a lease that brought nothing, and tells those who wait. Who has overtaken
-- a holder gives the lease back to it: it may only be slow, so the next to ask
-- has to overtake it too, and no more than two ask at once.
--
-- KEYS: lease, sequence
-- ARGV: token, channel, tag, how long a lease that is given back lasts in ms
-- Returns 1 if it was held.
local holders = redis.call('GET', KEYS[1]) or ''
local at = string.find(holders, ARGV[1], 1, true)
if not at then return 0 end
local left = string.sub(holders, 1, at - 1) .. string.sub(holders, at + #ARGV[1])
if left == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], left, 'PX', ARGV[4])
end
local sequence = redis.call('INCR', KEYS[2])
redis.call('PUBLISH', ARGV[2], 'r' .. struct.pack('>I8I8', sequence, 0) .. ARGV[3])
return 1
