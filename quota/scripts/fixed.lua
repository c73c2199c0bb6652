-- A fixed window, and the next one, into which calls may be booked ahead. Near
-- an edge a call counts on both sides of it.
shapes.fixed = { field = 'f:' }

local function edges(l)
  if not l.edges then
    local start = now - now % l.window
    return start, start + l.window, start + 2 * l.window
  end
  if now < l.edges[2] then return l.edges[1], l.edges[2], l.edges[3] end
  return l.edges[2], l.edges[3], 2 * l.edges[3] - l.edges[2]
end

function shapes.fixed.load(l, o)
  local f = numbers(state['f:' .. l.id])
  local w = { l = l, amount = l.amount }
  w.start, w.stop, w.after_stop = edges(l)
  w.before, w.used, w.after, w.known, w.known_next = 0, 0, 0, -1, -1
  w.paced, w.learned, w.closed = f[8] or 0, f[9] or 0, f[10] or 0
  if w.learned > 0 then w.amount = math.min(w.amount, w.learned) end
  if f[1] == w.start and f[2] == w.stop then
    w.before, w.used, w.after, w.known, w.known_next = f[3], f[4], f[5], f[6], f[7]
  elseif f[2] == w.start then
    w.before, w.used, w.known = f[4], f[5], f[7]
  elseif f[2] and (f[2] > now or f[1] > now) then
    -- The window itself was changed, or the clock put back: nothing is refilled.
    w.before, w.used, w.after = f[4], f[4] + f[5], f[5]
  end
  if w.known < 0 then w.known = o.waiting end
  w.margin = math.min(o.guard, (w.stop - w.start) * 2 / 5)
  return w
end

-- The window in which t lies, of the two.
local function view(w, t)
  if t < w.stop then
    return { start = w.start, stop = w.stop, used = w.used, before = w.before, known = w.known, amount = w.amount, margin = w.margin }
  end
  local known = w.known_next
  return { start = w.stop, stop = w.after_stop, used = w.after, before = w.used, known = known, amount = w.amount, margin = w.margin }
end

local function keep_at(v, t, o)
  local kept = o.keep(v.amount, v.stop - v.start, true)
  return kept * (1 - math.max(0, t - v.start) / (v.stop - v.start)), kept
end

-- The time from call to call at an even pace, 0 if they can go at once, and up
-- to which count of the window they can.
local function gap_at(w, v, t, u, o)
  local length = v.stop - v.start
  if o.urgent or length > 120e6 then return 0, v.amount end
  local left = v.amount - v.used
  local _, kept = keep_at(v, t, o)
  local known = v.known
  if known < 0 then known = o.waiting end
  local third = math.floor(v.amount / 3)
  local line = math.max(known * u, third + math.ceil((v.amount - third) * (t - v.start) / length))
  if not o.wary and o.waiting * u <= left * 1.02 - math.floor(kept) and v.used < line then return 0, line end
  local horizon = v.stop - v.margin - math.min(length / 50, 1e6)
  return math.max(0, math.ceil((horizon - t) * u / left)), v.amount
end

-- Near the end of a window a call needs room in the next one, too, which others
-- may have booked. Of the one after the next nothing is known.
local function edge(w, t, u)
  if t >= w.after_stop - w.margin then return w.after_stop + w.margin end
  if t >= w.stop - w.margin and t < w.stop and w.after + u > w.amount then return w.after_stop + w.margin end
  return t
end

function shapes.fixed.when(w, t, u, o)
  t = math.max(t, w.closed)
  local v = view(w, t)
  if v.used + u > v.amount then
    if t >= w.stop then return w.after_stop + w.margin end
    t = w.stop
    v = view(w, t)
    if v.used + u > v.amount then return w.after_stop + w.margin end
  end
  if t < v.start + v.margin and v.before + u > v.amount then t = v.start + v.margin end
  t = edge(w, t, u)
  if o.urgent then return t end
  local kept, full = keep_at(v, t, o)
  local rest = v.amount - v.used - u
  if rest < math.floor(kept) then
    t = v.start + math.floor((v.stop - v.start) * (1 - (rest + 1) / full)) + 1
    if t >= v.stop then return t end
  end
  local gap = gap_at(w, v, t, u, o)
  if gap > 0 then
    if w.paced > t and w.paced < v.stop then t = w.paced end
  elseif v.before + u > v.amount then
    -- A crowd waits longer after the edge than calls at an even pace.
    t = math.max(t, v.start + math.max(v.margin, math.min((v.stop - v.start) * 7 / 20, 350000)))
  end
  return math.ceil(t)
end

function shapes.fixed.plan(w, t, u, o)
  if t >= w.after_stop then return 0, 0, nil, late end -- no window that we keep
  local v = view(w, t)
  local kept = o.urgent and 0 or math.floor((keep_at(v, t, o)))
  local gap, line = gap_at(w, v, t, u, o)
  local left = math.floor(math.min(v.amount - v.used - kept, line - v.used) / u)
  local till = v.stop - v.margin
  if t >= till then return math.min(left, 1), 0, v.stop, late end
  if t < v.start + v.margin then
    left = math.min(left, math.floor((v.amount - v.before) / u))
  end
  if gap > 0 then left = math.min(left, math.floor((till - t) / gap) + 1) end
  return math.max(1, left), gap, till, till - t
end

function shapes.fixed.spend(w, t, u, n, gap, o)
  if t < w.stop then
    w.used = w.used + n * u
    if t >= w.stop - w.margin then w.after = w.after + n * u end
    if t < w.start + w.margin then w.before = w.before + n * u end
  else
    if w.known_next < 0 then w.known_next = o.waiting end
    w.after = w.after + n * u
  end
  if gap > 0 then w.paced = t + n * gap end
end

function shapes.fixed.back(w, at, u, n)
  if at >= w.stop then
    w.after = math.max(0, w.after - n * u)
  elseif at >= w.start then
    w.used = math.max(0, w.used - n * u)
  end
end

-- A call that left so late that it came into the next window counts there.
function shapes.fixed.late(w, at, left, u)
  local edge = w.start - w.margin
  if at < edge and left >= edge then w.used = w.used + u end
end

function shapes.fixed.charge(w, units, at)
  if at >= w.start - w.margin then w.used = w.used + units end
end

function shapes.fixed.lower(w, limit, remaining, reset)
  if limit > 0 then
    w.learned = limit
    w.amount = math.min(w.l.amount, limit)
  end
  if remaining < 0 then return end
  w.used = math.max(w.used, w.amount - remaining)
  if remaining == 0 and reset > w.stop and reset < w.after_stop then w.closed = reset end
end

function shapes.fixed.room(w, u) return math.floor((w.amount - w.used) / u), w.stop end

function shapes.fixed.left(w)
  if w.closed > now then return 0, w.closed end
  return math.max(0, w.amount - w.used), w.stop
end

function shapes.fixed.memo(w) return int(w.start) .. ' ' .. int(w.used) .. ' ' .. int(w.after) end

function shapes.fixed.merge(w, memo, unseen)
  local m = numbers(memo)
  if m[1] == w.start then
    w.used = math.max(w.used, math.min(w.amount, m[2] + unseen))
    w.after = math.max(w.after, m[3])
  elseif m[1] and m[1] < w.start then
    w.used = math.max(w.used, math.min(w.amount, (m[3] or 0) + unseen))
  end
end

function shapes.fixed.save(w)
  put('f:' .. w.l.id, table.concat({
    int(w.start), int(w.stop), int(w.before), int(w.used), int(w.after),
    int(w.known), int(w.known_next), int(w.paced), int(w.learned), int(w.closed),
  }, ' '))
end
