//! How a program reads and writes memory, and sends and receives.

use super::machine::{LoggedAtomic, Machine};
use super::memory::{Atomic, Window};
use super::pe::{Flow, Halt, Pe, Value, Wait};
use super::queues::Message;
use super::race::{Kind, Received};
use super::record::RecordKind;
use crate::data::Data;
use crate::ir::ops::{self, Access, Bounds};
use crate::ir::{Literal, OpId, Type, ValueId};
use std::sync::Arc;

impl Pe {
    /// Where a tile or scalar of this type lies; the view is a parameter's position.
    fn window(&self, cx: &Machine<'_, '_>, at: &Access, ty: Type) -> Result<(usize, Window), Halt> {
        let view = self.view(at.view)?;
        let int = |v: &ValueId| self.int(*v).map(|i| i as i64);
        let index: Vec<i64> = at.index.iter().map(int).collect::<Result<_, _>>()?;
        let limits: Vec<(u32, i64)> =
            at.limits.iter().map(|(axis, n)| int(n).map(|n| (*axis, n))).collect::<Result<_, _>>()?;
        let dims = ty.dims().ok_or(Halt::Invalid)?;
        let window = cx.view(view).and_then(|v| v.window(dims, &index, &limits)).ok_or(Halt::Invalid)?;
        Ok((view, window))
    }
    fn outside(&self, cx: &mut Machine<'_, '_>, kind: RecordKind, id: OpId, w: &Window) {
        let count = w.outside();
        if count > 0 {
            cx.records.add(kind, id, self.id, count, w.first_outside());
        }
    }
    pub(super) fn load(&mut self, cx: &mut Machine<'_, '_>, id: OpId, o: &ops::Load) -> Result<Flow, Halt> {
        let (view, window) = self.window(cx, &o.at, o.to.0)?;
        // A program sees its own atomics.
        cx.apply_logged(self.id);
        cx.watch((self.id, id), Kind::Read, view, &window);
        let fill = match o.fill.0 {
            Some(fill) => self.literal(fill)?,
            None => {
                self.outside(cx, RecordKind::LoadOutside, id, &window);
                Literal::zero(o.to.0.elem())
            }
        };
        let data = cx.view(view).and_then(|v| v.load(&window, fill)).ok_or(Halt::NeedsData(view))?;
        let value = if o.to.0.is_tile() { Value::Tile(Arc::new(data)) } else { Value::Scalar(data.get(0)) };
        self.result(cx, id, value)
    }
    /// A store, or an atomic.
    pub(super) fn write(
        &mut self,
        cx: &mut Machine<'_, '_>,
        id: OpId,
        to: (&Access, Bounds),
        value: ValueId,
        atomic: Option<Atomic>,
    ) -> Result<Flow, Halt> {
        let (at, bounds) = to;
        let (view, window) = self.window(cx, at, cx.m.ty(value))?;
        match bounds {
            Bounds::All => self.outside(cx, RecordKind::StoreOutside, id, &window),
            Bounds::Inside => {}
        }
        let tile = self.elements(value)?;
        let kind = if atomic.is_some() { Kind::Atomic } else { Kind::Write };
        cx.watch((self.id, id), kind, view, &window);
        match atomic {
            Some(f) => cx.atomic(self.id, LoggedAtomic { view, f, window, tile })?,
            None => {
                cx.apply_logged(self.id);
                cx.view_mut(view).and_then(|v| v.store(&window, &tile)).ok_or(Halt::NeedsData(view))?;
            }
        }
        Ok(Flow::Next)
    }
    /// A scalar or tile as elements.
    fn elements(&self, v: ValueId) -> Result<Arc<Data>, Halt> {
        match self.get(v) {
            Value::Scalar(lit) => Ok(Arc::new(Data::splat(*lit, 1))),
            Value::Tile(data) => Ok(data.clone()),
            Value::Unset | Value::View(_) => Err(Halt::Invalid),
        }
    }

    pub(super) fn send(&mut self, cx: &mut Machine<'_, '_>, id: OpId, o: &ops::Send) -> Result<Flow, Halt> {
        let to = cx.mesh.link(cx.grid, self.id, o.port).map_err(Halt::Link)?;
        if !cx.queues.has_space(self.id, to) {
            return Ok(Flow::Wait(Wait::Space(o.port)));
        }
        let stamp = cx.races.as_mut().map(|races| races.sent(self.id)).unwrap_or_default();
        let message = Message { value: self.get(o.value).clone(), ty: cx.m.ty(o.value), send: id, stamp };
        if cx.queues.push(self.id, to, message) {
            cx.wake(to.0);
        }
        Ok(Flow::Next)
    }
    pub(super) fn recv(&mut self, cx: &mut Machine<'_, '_>, id: OpId, o: &ops::Recv) -> Result<Flow, Halt> {
        let (from, _) = cx.mesh.link(cx.grid, self.id, o.port).map_err(Halt::Link)?;
        let queue = (self.id, o.port);
        let Some((message, sender_waits)) = cx.queues.pop(from, queue, id) else {
            return Ok(Flow::Wait(Wait::Message(o.port)));
        };
        if message.ty != o.to.0 {
            return Err(Halt::MessageType { sent: message.ty, send: message.send, from });
        }
        if sender_waits {
            cx.wake(from);
        }
        if let Some(races) = &mut cx.races {
            races.received(self.id, Received { from, stamp: message.stamp, send: message.send, recv: id });
        }
        self.result(cx, id, message.value)
    }
}
