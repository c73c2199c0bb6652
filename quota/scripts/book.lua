-- book reports what a replica did, and books calls ahead for it: from the first
-- moment at which every limit has room, so many as are due to it. The reply is
--   { status, now, epoch, seq, pause end, pause reason, guard, share, room,
--     start, gap, n, late, till, allowed places, lefts, memos, spreads }
-- with the status granted, full (nothing before start), none (nothing wanted),
-- or paused. Two replies are { status, now } only, and ask for a better order:
-- lost (the state does not know what the replica knows: say it) and clock (the
-- replica's calendar is not of this time).
local order = cjson.decode(ARGV[1])
local mine = 'r:' .. order.replica

for _, l in ipairs(order.limits) do
  if l.edges and (now < l.edges[1] or now >= l.edges[3]) then return { 'clock', now } end
end

local known_seq = tonumber(state.seq or '0')
local restoring = false
if order.epoch ~= '' and (state.epoch ~= order.epoch or known_seq < order.seen) then
  if not order.restore then return { 'lost', now } end
  restoring = true
  put('restored', int(now))
end
local settled = now - tonumber(state.restored or '0') > 1.5 * order.interval
if not state.epoch then
  put('epoch', order.fresh)
  put('born', int(now))
end
known_seq = math.max(known_seq, order.seen) + 1
put('seq', int(known_seq))

-- Who else is about: r: says when a replica was seen, until when its report
-- counts, how many callers wait there, its last lease, and how many calls are
-- booked there that the vendor may not have seen; a: which accounts wait.
local mine_accounts = {}
for i, id in ipairs(order.accounts) do mine_accounts[i] = id .. ':' .. order.weights[i] end
local previous = numbers(state[mine])
local active, waiting, spread, weights, ahead = 0, 0, {}, {}, order.held
local function count_accounts(text)
  for id, weight in string.gmatch(text or '', '(%S+):(%d+)') do
    spread[id] = (spread[id] or 0) + 1
    weights[id] = math.max(weights[id] or 0, tonumber(weight))
  end
end
for field, value in pairs(state) do
  local other = string.match(field, '^r:(.+)$')
  if other and other ~= order.replica then
    local r = numbers(value)
    ahead = ahead + (r[10] or 0)
    if now - r[1] > 60e6 and now > r[2] then
      drop(field)
      drop('a:' .. other)
    elseif r[3] > 0 and now <= r[2] then
      active, waiting = active + 1, waiting + r[3]
      count_accounts(state['a:' .. other])
    end
  end
end
active, waiting = active + 1, waiting + order.waiting
put('a:' .. order.replica, table.concat(mine_accounts, ' '))
count_accounts(state['a:' .. order.replica])

-- A replica's share of the calls is that of its accounts, each of which is
-- divided among the replicas where it waits.
local share, spreads = 1 / active, {}
if #order.accounts > 0 then
  local own, all = 0, 0
  for _, weight in pairs(weights) do all = all + weight end
  for i, id in ipairs(order.accounts) do
    own = own + weights[id] / spread[id]
    spreads[i] = spread[id]
  end
  share = own / all
end

local last_interactive = tonumber(state.interactive or '0')
if order.interactive >= 0 and now - order.interactive > last_interactive then
  last_interactive = now - order.interactive
  put('interactive', int(last_interactive))
end

-- A pause may be new, and so may be that the vendor refused what the account
-- allowed.
local till, reason = pause_now()
if order.pause then
  if order.surprise and till < 0 then grow_guard(order.guard) end
  if reason == '' or order.pause.till == 0 or till > 0 and order.pause.till > till then
    put('pause', int(order.pause.till) .. ' ' .. order.pause.reason)
    put('probe', order.pause.probed and '0' or '')
  end
elseif order.resume and reason ~= '' then
  put('pause', '')
  put('probe', '')
end
local guard = guard_now(order.guard)
if order.pause or order.resume then
  till, reason = pause_now()
  redis.call('PUBLISH', order.channel, order.provider .. ' ' .. int(till) .. ' ' .. int(guard) .. ' ' .. reason)
end

local o = {
  urgent = order.urgent, waiting = waiting, share = share, guard = guard, base_guard = order.guard,
  interval = order.interval, ahead = ahead, wary = guard > order.guard,
}
-- kept is what of an amount is for the interactive lane, keep what others must
-- leave of it.
function o.kept(amount, length, fresh)
  local calm = now - last_interactive
  if fresh and now - tonumber(state.born) < math.min(60e6, length) then calm = 0 end
  if amount < 20 or order.reserve <= 0 or calm >= math.max(600e6, length) then return 0 end
  return amount * order.reserve + 2
end
function o.keep(amount, length, fresh)
  if o.urgent then return 0 end
  return o.kept(amount, length, fresh)
end

-- A limit is known by what it means, so that a new name changes nothing. One
-- whose meaning changed under its name goes on with what was spent; if its shape
-- changed, with nothing left.
local windows = {}
for i, l in ipairs(order.limits) do
  local shape, named = shapes[l.shape], 'n:' .. l.name
  local was = state[named]
  if was and was ~= l.id and shape and not state[shape.field .. l.id] then
    state[shape.field .. l.id] = state[shape.field .. was]
    windows[i] = shape.load(l, o)
    if not state[shape.field .. l.id] then shape.charge(windows[i], l.amount, now) end
  elseif shape then
    windows[i] = shape.load(l, o)
  end
  if was ~= l.id then put(named, l.id) end
end
local function each(f)
  for i, l in ipairs(order.limits) do
    if windows[i] then f(shapes[l.shape], windows[i], i, l) end
  end
end

-- An order that was obeyed already comes again when its answer was lost.
local repeated = previous[4] == order.seq
if order.again and not repeated then order.want = 0 end

-- What the replica did since its last report.
each(function(shape, w, i, l)
  if restoring then
    shape.merge(w, order.memos and order.memos[i] or '', math.ceil(l.amount / l.window * (now - order.memo_at + order.interval)))
  end
  if repeated then return end
  for _, back in ipairs(order.returns) do
    if back.units[i] > 0 then shape.back(w, back.at, back.units[i], back.n, back.booked) end
  end
  for _, extra in ipairs(order.extras) do
    if extra.units[i] > 0 then shape.charge(w, extra.units[i] * extra.n, extra.at) end
  end
  for _, call in ipairs(order.late) do
    if call.units[i] > 0 and shape.late then shape.late(w, call.at, call.left, call.units[i], call.booked) end
  end
  for _, s in ipairs(order.lowered) do
    if s.limit == i then shape.lower(w, s.amount, s.remaining, s.reset) end
  end
end)

local status, start, gap, n, lateness, ends = 'none', now, 0, 0, late, 0
if repeated and previous[7] > 0 then
  status, start, gap, n, lateness, ends = 'granted', previous[5], previous[6], previous[7], previous[8], previous[9]
elseif order.want > 0 and till >= 0 then
  status = 'paused'
elseif order.want > 0 then
  -- After a refusal's pause one call goes first, and others once it would have
  -- been refused. The field probe says when it goes, 0 as long as nobody made it.
  local probe = tonumber(state.probe or '')
  if probe and probe > 0 then
    start = math.max(start, probe + 500000)
    if start == now then put('probe', '') end
  elseif probe then
    order.want = 1
  end
  for _ = 1, 8 do
    local at = start
    each(function(shape, w, i)
      if order.units[i] > 0 then at = math.max(at, shape.when(w, at, order.units[i], o)) end
    end)
    if at == start then break end
    start = at
  end
  n, lateness, ends = order.want, 3600e6, 0
  each(function(shape, w, i)
    if order.units[i] > 0 then
      local most, pace, stop, slack = shape.plan(w, start, order.units[i], o)
      n, gap, lateness = math.min(n, most), math.max(gap, pace), math.min(lateness, slack)
      if stop and (ends == 0 or stop < ends) then ends = stop end
    end
  end)
  if gap > 0 then n = math.min(n, math.ceil(order.interval * share / gap)) end
  if ends > 0 and gap > 0 then n = math.min(n, math.floor((ends - start) / gap) + 1) end
  local horizon = math.max(order.interval, 2 * gap / share)
  if order.urgent and order.before > 0 then horizon = math.min(horizon, order.before) end
  if n < 1 or start > now + horizon then
    status, n = 'full', 0
  else
    status = 'granted'
    if probe == 0 then put('probe', int(start)) end
    each(function(shape, w, i)
      if order.units[i] > 0 then shape.spend(w, start, order.units[i], n, gap, o) end
    end)
  end
end

local room, lefts, memos, allowed = 1e9, {}, {}, {}
for i, l in ipairs(order.limits) do
  lefts[i], memos[i], allowed[i] = { 0, 0 }, '', -1
  if windows[i] then
    local left, reset = shapes[l.shape].left(windows[i])
    lefts[i] = { left, math.floor(reset) }
    memos[i] = shapes[l.shape].memo(windows[i])
    if order.units[i] > 0 then room = math.min(room, (shapes[l.shape].room(windows[i], order.units[i]))) end
    shapes[l.shape].save(windows[i])
  else
    allowed[i] = share_slots(l, order.replica, order.running[i], order.places[i], settled)
  end
end

local expected = now + 3e6
if status == 'full' then expected = start + 3e6 end
put(mine, table.concat({
  int(now), int(expected), int(math.max(0, order.waiting - n)), int(order.seq),
  int(start), int(gap), int(n), int(lateness), int(ends), int(order.held + n),
}, ' '))
save()
return {
  status, now, state.epoch, known_seq, till, reason, guard, math.floor(share * 1e6), math.floor(room),
  math.floor(start), math.floor(gap), n, math.floor(lateness), math.floor(ends), allowed, lefts, memos, spreads,
}
