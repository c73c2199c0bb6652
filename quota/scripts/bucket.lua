-- A token bucket: tokens at a moment. The moment lies in the future while calls
-- are booked ahead; tokens before it follow from the rate. The field holds
-- tokens, moment, when the reserve was filled, when the vendor's bucket may have
-- been full last, and when what interactive calls borrowed is paid back.
shapes.token_bucket = { field = 'b:' }

local function advance(w, t)
  w.tokens, w.last = math.min(w.burst, w.tokens + (t - w.last) * w.pace), t
end

function shapes.token_bucket.load(l, o)
  local b = numbers(state['b:' .. l.id])
  local w = {
    l = l, rate = l.amount / l.window, burst = l.burst,
    tokens = b[1] or l.burst, last = b[2] or now, borrowed = {},
  }
  w.hold = 0
  if o.guard > 0 then w.hold = 1 + math.ceil(w.rate * o.guard) + math.floor(l.burst / 20) end
  w.pace = math.min(w.rate, l.burst / (1 / w.rate + o.base_guard))
  w.filled, w.full = b[3] or 0, b[4] or now
  if w.last < now then advance(w, now) end
  w.tokens = math.min(w.tokens, w.burst)
  -- The vendor has more than we count: what was booked and is not there yet.
  if w.tokens + (now - w.last) * w.pace + o.ahead >= w.burst - 1 then w.full = now end
  for i = 5, #b do
    if b[i] > now then w.borrowed[#w.borrowed + 1] = b[i] end
  end
  return w
end

local function tokens_at(w, t) return math.min(w.burst, w.tokens + (t - w.last) * w.pace) end

-- What must be there for u units to be spent: the held tokens, and the
-- reserve. An interactive call leaves a reserve alone that is filled: it borrows
-- from it instead, so that what it takes is counted once.
local function need(w, u, o)
  local kept = o.keep(w.burst, w.l.window)
  if o.urgent and w.filled > 0 then kept = o.kept(w.burst, w.l.window) end
  return math.min(u + w.hold + math.floor(kept), math.max(w.burst, u))
end

-- An interactive call may begin ahead of its turn on a token of the reserve.
local function borrows(w, t, u, o)
  return o.urgent and u == 1 and tokens_at(w, t) < need(w, u, o) and w.filled > 0 and w.filled <= t
    and #w.borrowed < math.floor(o.kept(w.burst, w.l.window))
end

function shapes.token_bucket.when(w, t, u, o)
  if borrows(w, t, u, o) then return t end
  local lacking = need(w, u, o) - w.tokens
  return math.max(t, math.ceil(w.last + lacking / w.pace - 1e-6))
end

-- What is there goes at once; what is not follows at the rate.
function shapes.token_bucket.plan(w, t, u, o)
  if borrows(w, t, u, o) then return 1, 0, nil, late end
  local spare = math.floor((tokens_at(w, t) - need(w, u, o)) / u + 1e-6)
  local gap, slack = math.ceil(u / w.pace), late
  -- The held tokens cover a call that is late by one more; a small bucket holds
  -- none.
  if u + w.hold <= w.burst then slack = late + gap end
  if spare >= 1 then return spare + 1, 0, nil, slack end
  return math.huge, gap, nil, slack
end

function shapes.token_bucket.spend(w, t, u, n, gap, o)
  local kept = o.keep(w.burst, w.l.window)
  if borrows(w, t, u, o) then
    w.tokens = w.tokens - u
    w.borrowed[#w.borrowed + 1] = math.ceil(w.last + (w.hold + o.kept(w.burst, w.l.window) - w.tokens) / w.pace)
    return
  end
  if kept == 0 and not o.urgent then
    w.filled = 0
  elseif kept > 0 and w.filled == 0 then
    w.filled = t
  end
  if t > w.last then advance(w, t) end
  w.tokens = w.tokens - n * u
  local finish = t + (n - 1) * gap
  if finish > w.last then
    advance(w, finish)
    w.tokens = math.min(w.tokens, w.burst - u) -- where another limit spreads calls, it runs over between them
  end
end

-- In a bucket that was full since, tokens of calls that were not sent have run
-- over. Before a call that is still booked there can be no more than the burst:
-- what does not fit runs over until then.
function shapes.token_bucket.back(w, at, u, n)
  local back, most = n * u, w.burst
  if at <= w.full then back = math.max(0, back - math.max(0, now - at) * w.pace) end
  if at < w.last and w.last > now then most = most - u end
  w.tokens = math.max(w.tokens, math.min(most, w.tokens + back))
end

-- What was spent before the bucket could fill up has come back since.
function shapes.token_bucket.charge(w, units, at)
  if now - at < w.burst / w.pace then w.tokens = w.tokens - units end
end

function shapes.token_bucket.lower(w, _, remaining)
  if remaining >= 0 then
    local surplus = w.tokens + (now - w.last) * w.pace - remaining
    if surplus > 0 then w.tokens = w.tokens - math.floor(surplus) end
  end
end

function shapes.token_bucket.room(w, u)
  return math.floor((w.tokens + (now - w.last) * w.pace - w.hold) / u), now
end

function shapes.token_bucket.left(w)
  return math.max(0, math.floor(tokens_at(w, now))), math.ceil(w.last + (w.burst - w.tokens) / w.pace)
end

function shapes.token_bucket.memo(w) return string.format('%.6f %.0f', w.tokens, w.last) end

function shapes.token_bucket.merge(w, memo, unseen)
  local m = numbers(memo)
  local theirs = (m[1] or 0) + (w.last - (m[2] or now)) * w.pace - unseen
  w.tokens = math.min(w.tokens, theirs)
end

function shapes.token_bucket.save(w)
  local text = string.format('%.6f %.0f %.0f %.0f', w.tokens, w.last, w.filled, w.full)
  for _, t in ipairs(w.borrowed) do text = text .. ' ' .. int(t) end
  put('b:' .. w.l.id, text)
end
