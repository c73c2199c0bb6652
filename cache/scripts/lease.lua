-- Takes the lease on a subject, unless there is news about the subject or
-- another holds the lease. Taking it twice is taking it once. A token that
-- begins with ! takes it from a holder whose token does not, and is put before
-- that: release.lua gives it back.
--
-- KEYS: entry, lease
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
local token = ARGV[1]
local holder = redis.call('GET', KEYS[2]) or ''
if string.sub(holder, 1, #token) == token then
  token = holder
elseif holder ~= '' then
  if string.sub(token, 1, 1) ~= '!' or string.sub(holder, 1, 1) == '!' then
    return {0, now, math.max(redis.call('PTTL', KEYS[2]), 1), ''}
  end
  token = token .. holder
end
redis.call('SET', KEYS[2], token, 'PX', ARGV[2])
return {1, now, 0, ''}
