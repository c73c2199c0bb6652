-- Takes the lease on a subject, unless there is news about the subject or
-- another holds the lease. Taking it twice is taking it once. A token that
-- begins with ! overtakes one holder: it is kept beside the holder's, which goes
-- on, and nobody else is granted the lease until both have ended.
--
-- KEYS: entry, lease, lease of who overtakes
-- ARGV: token, how long the lease lasts in ms, version of the entry that the
--       caller knows (0: none), size of the largest entry
-- Returns {granted, server time in us, ms until the other's lease ends,
-- entry that the caller does not know}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if redis.call('TYPE', KEYS[1]).ok == 'string' then
  local head = redis.call('GETRANGE', KEYS[1], 0, 15)
  local version = 0
  if #head == 16 and string.sub(head, 1, 4) == 'enr\1' then version = struct.unpack('>I8', head, 9) end
  if version > tonumber(ARGV[3]) and version <= now + 86400000000 then
    return {0, now, 0, redis.call('GETRANGE', KEYS[1], 0, ARGV[4] - 1)}
  end
end
local token, lease, beside = ARGV[1], KEYS[2], KEYS[3]
local holder, overtaker = redis.call('GET', lease), redis.call('GET', beside)
if overtaker == token then
  lease = beside
elseif holder ~= token and (holder or overtaker) then
  if overtaker or string.sub(token, 1, 1) ~= '!' then
    return {0, now, math.max(redis.call('PTTL', overtaker and beside or lease), 1), ''}
  end
  lease = beside
end
redis.call('SET', lease, token, 'PX', ARGV[2])
return {1, now, 0, ''}
