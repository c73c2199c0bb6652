-- A token bucket: tokens at a moment. The moment lies in the future while calls
-- are booked ahead; tokens before it follow from the rate. The field holds
-- tokens, moment, when the reserve was filled, when the vendor's bucket may have
-- been full last, the last call before which more than half was there, the last
-- call, and when what interactive calls borrowed is paid back.
shapes.token_bucket = { field = 'b:' }

-- Up to the held tokens and one more than the burst are counted: they tell for how
-- long the bucket has been full.
local function filled(w, t) return math.min(w.burst + w.hold + 1, w.tokens + (t - w.last) * w.pace) end

local function advance(w, t) w.tokens, w.last = filled(w, t), t end

function shapes.token_bucket.load(l, o)
  local b = numbers(state['b:' .. l.id])
  local w = {
    l = l, rate = l.amount / l.window, burst = l.burst,
    tokens = b[1] or l.burst, last = b[2] or now, borrowed = {},
  }
  w.hold = 0
  if o.guard > 0 then w.hold = 1 + math.ceil(w.rate * o.guard) + math.floor(l.burst / 20) end
  w.pace = math.min(w.rate, l.burst / (1 / w.rate + o.base_guard))
  w.filled, w.full, w.rich, w.booked = b[3] or 0, b[4] or now, b[5] or 0, b[6] or 0
  if w.last < now then advance(w, now) end
  w.tokens = math.min(w.tokens, w.burst + w.hold + 1)
  -- The vendor has more than we count: what was booked and is not there yet.
  if w.tokens + (now - w.last) * w.pace + o.ahead >= w.burst - 1 then w.full = now end
  for i = 7, #b do
    if b[i] > now then w.borrowed[#w.borrowed + 1] = b[i] end
  end
  return w
end

local function tokens_at(w, t) return math.min(w.burst, filled(w, t)) end

-- The held tokens cover that a call is late by one more than the guard; a small
-- bucket holds none.
local function extra(w, u)
  if u + w.hold > w.burst then return 0 end
  return math.ceil(1 / w.pace)
end

-- How long the bucket must have been full before a call that is too large to
-- leave the held tokens in it: so long may those before it be late. Calls of one
-- unit are kept apart by the pace.
local function rest(w, u, o)
  if u == 1 or u + w.hold <= w.burst then return 0 end
  return math.max(0, math.ceil(o.guard + extra(w, 1) - (w.burst - u) / w.rate))
end

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
  return math.max(t, math.ceil(w.last + lacking / w.pace - 1e-6 + rest(w, u, o)))
end

-- What is there goes at once; what is not follows at the rate.
function shapes.token_bucket.plan(w, t, u, o)
  if borrows(w, t, u, o) then return 1, 0, nil, late end
  local spare = math.floor((tokens_at(w, t) - need(w, u, o)) / u + 1e-6)
  local gap, slack = math.ceil(u / w.pace) + rest(w, u, o), late + extra(w, u)
  if spare >= 1 then return spare + 1, 0, nil, slack end
  return math.huge, gap, nil, slack
end

function shapes.token_bucket.spend(w, t, u, n, gap, o)
  local finish = t + (n - 1) * gap
  w.booked = math.max(w.booked, finish)
  -- Before what is booked there is more than follows from the rate.
  if t < w.last or tokens_at(w, t) > w.burst / 2 then w.rich = math.max(w.rich, finish) end
  local kept = o.keep(w.burst, w.l.window)
  if borrows(w, t, u, o) then
    w.tokens = math.min(w.tokens, w.burst) - u
    w.borrowed[#w.borrowed + 1] = math.ceil(w.last + (w.hold + o.kept(w.burst, w.l.window) - w.tokens) / w.pace)
    return
  end
  if kept == 0 and not o.urgent then
    w.filled = 0
  elseif kept > 0 and w.filled == 0 then
    w.filled = t
  end
  if t > w.last then advance(w, t) end
  w.tokens = math.min(w.tokens, w.burst) - n * u
  if finish > w.last then
    advance(w, finish)
    w.tokens = math.min(w.tokens, w.burst - u) -- where another limit spreads calls, it runs over between them
    if w.tokens + u > w.burst / 2 then w.rich = math.max(w.rich, finish) end
  end
end

-- In a bucket that was full since, tokens of calls that were not sent have run
-- over. So may those that come back before a later call, though no more than flowed
-- in until then: if half was there at most, all others leave room for as much as
-- half.
function shapes.token_bucket.back(w, at, u, n)
  local back, most = n * u, w.burst
  if at <= w.full then back = math.max(0, back - math.max(0, now - at) * w.pace) end
  local sure = math.max(0, back - math.max(0, math.max(now, w.booked) - at) * w.pace)
  if at < w.rich then back = sure end
  if at < w.booked then most = math.max(w.burst / 2, math.min(most, w.tokens + sure)) end
  w.tokens = math.max(w.tokens, math.min(most, w.tokens + back))
end

-- What was spent before the bucket could fill up has come back since.
function shapes.token_bucket.charge(w, units, at)
  if now - at < w.burst / w.pace then w.tokens = math.min(w.tokens, w.burst) - units end
end

function shapes.token_bucket.lower(w, _, remaining)
  if remaining >= 0 then
    w.tokens = math.min(w.tokens, w.burst)
    local surplus = w.tokens + (now - w.last) * w.pace - remaining
    if surplus > 0 then w.tokens = w.tokens - math.floor(surplus) end
  end
end

function shapes.token_bucket.room(w, u)
  return math.floor((math.min(w.tokens, w.burst) + (now - w.last) * w.pace - w.hold) / u), now
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
  local text = string.format('%.6f %.0f %.0f %.0f %.0f %.0f', w.tokens, w.last, w.filled, w.full, w.rich, w.booked)
  for _, t in ipairs(w.borrowed) do text = text .. ' ' .. int(t) end
  put('b:' .. w.l.id, text)
end
