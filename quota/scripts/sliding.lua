-- A sliding window: a log of what was spent when, oldest first. What was spent
-- within a small part of the window comes back together.
shapes.sliding = { field = 's:' }

function shapes.sliding.load(l, o)
  local w = { l = l, amount = l.amount, log = {}, used = 0 }
  w.length = l.window + math.min(o.guard, l.window / 4)
  local all = numbers(state['s:' .. l.id])
  w.learned, w.closed = all[1] or 0, all[2] or 0
  if w.learned > 0 then w.amount = math.min(w.amount, w.learned) end
  for i = 3, #all, 2 do
    if all[i] + w.length > now then
      w.log[#w.log + 1] = { at = all[i], n = all[i + 1] }
      w.used = w.used + all[i + 1]
    end
  end
  return w
end

function shapes.sliding.when(w, t, u, o)
  t = math.max(t, w.closed)
  local kept = math.max(0, math.min(math.floor(o.keep(w.amount, w.l.window) / 5), w.amount - u))
  local lacking = w.used + u + kept - w.amount
  for _, entry in ipairs(w.log) do
    if lacking <= 0 then break end
    lacking = lacking - entry.n
    t = math.max(t, math.ceil(entry.at + w.length))
  end
  return t
end

function shapes.sliding.plan(w, t, u, o)
  local free = w.amount - w.used - math.floor(o.keep(w.amount, w.l.window) / 5)
  for _, entry in ipairs(w.log) do
    if entry.at + w.length > t then break end
    free = free + entry.n
  end
  local part = math.max(free / 2, w.amount * o.interval / w.l.window) * o.share
  return math.max(1, math.min(math.floor(free / u), math.ceil(part / u))), 0, nil, late
end

function shapes.sliding.spend(w, t, u, n, gap)
  local at, part = t + (n - 1) * gap, w.l.window / 256
  local place = #w.log
  while place > 0 and w.log[place].at > at do place = place - 1 end
  local last = w.log[place]
  w.used = w.used + n * u
  if last and math.floor(last.at / part) == math.floor(at / part) then
    last.at, last.n = at, last.n + n * u
  else
    table.insert(w.log, place + 1, { at = at, n = n * u })
  end
end

-- What is no longer in the log has come back already.
function shapes.sliding.back(w, _, u, n, booked)
  local part = w.l.window / 256
  for _, entry in ipairs(w.log) do
    if math.floor(entry.at / part) == math.floor(booked / part) then
      local given = math.min(entry.n, n * u)
      entry.n, w.used = entry.n - given, w.used - given
      return
    end
  end
end

-- Units of a call that left late come back later.
function shapes.sliding.late(w, at, left, u, booked)
  local before = w.used
  shapes.sliding.back(w, at, u, 1, booked)
  shapes.sliding.charge(w, before - w.used, left)
end

function shapes.sliding.charge(w, units, at)
  if units > 0 and at + w.length > now then shapes.sliding.spend(w, at, units, 1, 0) end
end

function shapes.sliding.lower(w, limit, remaining, reset)
  if limit > 0 then
    w.learned = limit
    w.amount = math.min(w.l.amount, limit)
  end
  if remaining < 0 then return end
  shapes.sliding.charge(w, w.amount - w.used - remaining, now)
  if remaining == 0 and reset > now and reset <= now + w.length then w.closed = reset end
end

function shapes.sliding.room(w, u)
  local first = w.log[1]
  return math.floor((w.amount - w.used) / u), first and first.at + w.length or now
end

function shapes.sliding.left(w)
  local last = w.log[#w.log]
  return math.max(0, w.amount - w.used), last and last.at + w.length or now
end

function shapes.sliding.memo(w) return int(w.used) end

function shapes.sliding.merge(w, memo, unseen)
  shapes.sliding.charge(w, math.min(w.amount, (tonumber(memo) or 0) + unseen) - w.used, now)
end

function shapes.sliding.save(w)
  local parts = { int(w.learned), int(w.closed) }
  for _, entry in ipairs(w.log) do
    if entry.n > 0 then parts[#parts + 1] = int(entry.at) .. ' ' .. int(entry.n) end
  end
  put('s:' .. w.l.id, table.concat(parts, ' '))
end
