-- The switches that are off, for all replicas: fields "off:scope/name" of one
-- hash. "epoch" names the hash, "seq" counts its changes: a replica that knows
-- another epoch, or a higher count, has seen what was lost here. Then what it
-- knows to be off is off again.
--   ARGV: epoch and seq that the replica knows, an epoch if there is none yet,
--         the channel on which changes are told, how many changes follow as
--         pairs of field and value (empty: on), and after them all that the
--         replica knows to be off, likewise.
-- The reply is the hash.
local key = KEYS[1]
local epoch, seq, fresh, channel, changes = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local rest = 6 + 2 * changes

local here = redis.call('HGET', key, 'epoch')
local at = tonumber(redis.call('HGET', key, 'seq') or '0')
local news = changes > 0
if not here then redis.call('HSET', key, 'epoch', fresh) end
if here ~= epoch or at < seq then
  for i = rest, #ARGV, 2 do
    if redis.call('HSETNX', key, ARGV[i], ARGV[i + 1]) == 1 then news = true end
  end
  at = math.max(at, seq)
end
for i = 6, rest - 1, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', key, ARGV[i])
  else
    redis.call('HSET', key, ARGV[i], ARGV[i + 1])
  end
end
if news then
  redis.call('HSET', key, 'seq', at + 1)
  redis.call('PUBLISH', channel, 'changed')
end
return redis.call('HGETALL', key)
