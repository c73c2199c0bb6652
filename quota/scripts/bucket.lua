-- A token bucket: tokens at a moment. The moment lies in the future while calls
-- are booked ahead; tokens before it follow from the rate.
shapes.token_bucket = { field = 'b:' }

function shapes.token_bucket.load(l, o)
  local b = numbers(state['b:' .. l.id])
  local w = {
    l = l, rate = l.amount / l.window, burst = l.burst,
    tokens = b[1] or l.burst, last = b[2] or now, borrowed = {},
  }
  w.hold = 0
  if o.guard > 0 then w.hold = 1 + math.ceil(w.rate * o.guard) + math.floor(l.burst / 20) end
  w.pace = math.min(w.rate, l.burst / (1 / w.rate + o.base_guard))
  if w.last < now then
    w.tokens, w.last = w.tokens + (now - w.last) * w.pace, now
  end
  w.tokens = math.min(w.tokens, w.burst)
  -- The reserve is filled from b[3] on; each interactive call ahead of its turn
  -- borrowed from it until its turn has come.
  w.filled = b[3] or 0
  for i = 4, #b do
    if b[i] > now then w.borrowed[#w.borrowed + 1] = b[i] end
  end
  return w
end

local function tokens_at(w, t) return math.min(w.burst, w.tokens + (t - w.last) * w.pace) end

local function need(w, u, o)
  return math.min(u + w.hold + math.floor(o.keep(w.burst, w.l.window)), math.max(w.burst, u))
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
  local gap = math.ceil(u / w.pace)
  if spare >= 1 then return spare + 1, 0, nil, late + gap end
  return math.huge, gap, nil, late + gap
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
  local finish = t + (n - 1) * gap
  local left = tokens_at(w, t) - n * u + (n - 1) * gap * w.pace
  if finish >= w.last then
    w.tokens, w.last = math.min(left, w.burst - u), finish
  else
    w.tokens = w.tokens - n * u
  end
end

function shapes.token_bucket.back(w, at, u, n) w.tokens = math.min(w.burst, w.tokens + n * u) end

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
  local text = string.format('%.6f %.0f %.0f', w.tokens, w.last, w.filled)
  for _, t in ipairs(w.borrowed) do text = text .. ' ' .. int(t) end
  put('b:' .. w.l.id, text)
end
