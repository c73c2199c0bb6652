-- Calls at once: which replica holds how many places, wants how many, and until
-- when unless it is heard of again. A state that was lost gives out no place
-- until all replicas have told what they hold.
local function share_slots(l, replica, running, want, settled)
  local field, others, wanting, hungry = 'c:' .. l.id, 0, 1, false
  local kept, before = {}, 0
  for id, held, wants, till in string.gmatch(state[field] or '', '(%S+):(%d+):(%d+):(%d+)') do
    held, wants = tonumber(held), tonumber(wants)
    if id ~= replica and tonumber(till) > now then
      others = others + held
      if wants > 0 then wanting = wanting + 1 end
      if wants > 0 and id < replica then before = before + 1 end
      if wants > held then hungry = true end
      kept[#kept + 1] = id .. ':' .. held .. ':' .. wants .. ':' .. till
    end
  end
  local allowed = math.max(0, math.min(want, l.amount - others))
  if hungry then
    local fair = math.floor(l.amount / wanting)
    if before < l.amount % wanting then fair = fair + 1 end
    allowed = math.min(allowed, fair)
  end
  if not settled then allowed = math.min(allowed, running) end
  local held = math.max(allowed, running)
  if held > 0 or want > 0 then
    kept[#kept + 1] = replica .. ':' .. int(held) .. ':' .. int(want) .. ':' .. int(now + 15e6)
  end
  put(field, table.concat(kept, ' '))
  return allowed
end
