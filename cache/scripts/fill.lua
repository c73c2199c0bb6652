-- Stores an entry if what is stored is still what it was joined with, and none
-- of its facts stems from before an erasure. Ends the writer's lease.
--
-- KEYS: entry, erased, sequence, lease, lease of who overtakes
-- ARGV: version that the entry was joined with (0: none),
--       latest erasure that was applied to it (us, 0: none),
--       sealed entry (empty: only compare), its time to live in ms,
--       size of the largest entry, channel, tag, lease token (empty: none)
-- Returns {done, version now stored, server time in us, latest erasure in us,
-- what is stored instead}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local erased = tonumber(redis.call('GET', KEYS[2]) or '0')

local version = 0
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' then
  local head = redis.call('GETRANGE', KEYS[1], 0, 15)
  if #head == 16 and string.sub(head, 1, 4) == 'enr\1' then
    version = struct.unpack('>I8', head, 9)
  end
  if version > now + 86400000000 then version = 0 end
elseif kind ~= 'none' then
  redis.call('DEL', KEYS[1])
end

if version ~= tonumber(ARGV[1]) or erased > tonumber(ARGV[2]) then
  local stored = ''
  if version > 0 then stored = redis.call('GETRANGE', KEYS[1], 0, ARGV[5] - 1) end
  return {0, version, now, erased, stored}
end
local sealed = ARGV[3]
if sealed ~= '' then
  version = math.max(now, version + 1)
  redis.call('SET', KEYS[1],
    string.sub(sealed, 1, 8) .. struct.pack('>I8', version) .. string.sub(sealed, 17),
    'PX', ARGV[4])
  local sequence = redis.call('INCR', KEYS[3])
  redis.call('PUBLISH', ARGV[6], 'f' .. struct.pack('>I8I8', sequence, version) .. ARGV[7])
end
if ARGV[8] ~= '' then
  for i = 4, 5 do
    if redis.call('GET', KEYS[i]) == ARGV[8] then redis.call('DEL', KEYS[i]) end
  end
end
return {1, version, now, erased, ''}
