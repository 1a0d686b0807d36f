// Draws a dashboard as draw.py left it in data.js: {title, from, to, width, panels}, each panel as the
// dashboard's JSON has it, with the answers of its queries as `results`. Frames, series, axes, legends,
// tables and numbers are Grafana's own components; only the grid, and the heatmap's cells, which
// @grafana/ui does not have, are ours.
import React from 'react';
import { createRoot } from 'react-dom/client';
import {
  FieldColorModeId, FieldType, ThemeContext, applyFieldOverrides, createTheme, dateTime,
  getDisplayProcessor, getValueFormat, formattedValueToString, standardEditorsRegistry,
  standardFieldConfigEditorRegistry, toDataFrame,
} from '@grafana/data';
import {
  BigValue, BigValueColorMode, BigValueGraphMode, PanelChrome, Table, TimeSeries, UPlotChart,
  UPlotConfigBuilder,
} from '@grafana/ui';
import {
  AxisPlacement, ScaleDirection, ScaleDistribution, ScaleOrientation,
} from '@grafana/schema';

// No editors: nothing is edited here.
standardEditorsRegistry.setInit(() => []);
standardFieldConfigEditorRegistry.setInit(() => []);

const data = window.DATA;
const theme = createTheme({ colors: { mode: 'light' } });
const timeZone = 'utc';
const timeRange = {
  from: dateTime(data.from * 1000), to: dateTime(data.to * 1000),
  raw: { from: dateTime(data.from * 1000), to: dateTime(data.to * 1000) },
};
const COLUMN = data.width / 24;
const ROW = 38;

const number = (text) => (text === 'NaN' ? null : Number(text));
const legendOf = (format, labels) =>
  format.replace(/{{(\w+)}}/g, (_, name) => labels[name] ?? '').replace(/ +/g, ' ').trim();

// One frame a series, named by the query's legend; series without a value are left out.
function framesOf(panel) {
  const frames = [];
  panel.targets.forEach((target, i) => panel.results[i].forEach(({ metric, values }) => {
    if (!values.some(([, v]) => number(v) !== null)) return;
    const unit = panel.fieldConfig.overrides.find((o) => o.matcher.options === target.refId)
      ?.properties.find((p) => p.id === 'unit')?.value ?? panel.fieldConfig.defaults.unit;
    frames.push(toDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: values.map(([t]) => t * 1000), config: {} },
        {
          name: 'Value', type: FieldType.number, labels: metric,
          values: values.map(([, v]) => number(v)),
          config: {
            displayName: legendOf(target.legendFormat, metric) || panel.title, unit,
            min: panel.fieldConfig.defaults.min,
            color: { mode: FieldColorModeId.PaletteClassic },
            custom: { ...panel.fieldConfig.defaults.custom, lineWidth: 1,
                      axisPlacement: unit === panel.fieldConfig.defaults.unit ? 'auto' : 'right' },
          },
        },
      ],
    }));
  }));
  return applyFieldOverrides({
    data: frames, theme, timeZone, replaceVariables: (s) => s,
    fieldConfig: { defaults: {}, overrides: [] },
  }).map((frame, seriesIndex) => {
    frame.fields[1].state = { ...frame.fields[1].state, seriesIndex };
    return frame;
  });
}

function Series({ panel, width, height }) {
  const frames = framesOf(panel);
  return <TimeSeries frames={frames} structureRev={1} timeRange={timeRange} timeZone={timeZone}
    width={width} height={height}
    legend={{ showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] }} />;
}

// As Grafana's stat panel: the last value of each series, side by side.
function Stats({ panel, width, height }) {
  const frames = framesOf(panel);
  return <div style={{ display: 'flex' }}>{frames.map((frame, i) => {
    const field = frame.fields[1];
    field.config.thresholds = {
      ...panel.fieldConfig.defaults.thresholds,
      steps: panel.fieldConfig.defaults.thresholds.steps.map((s) => ({ ...s, value: s.value ?? -Infinity })),
    };
    field.config.color = { mode: FieldColorModeId.Thresholds };
    const value = [...field.values].reverse().find((v) => v !== null);
    const shown = getDisplayProcessor({ field, theme, timeZone })(value);
    return <BigValue key={i} theme={theme} width={width / frames.length} height={height}
      colorMode={BigValueColorMode.Value} graphMode={BigValueGraphMode.Area} count={frames.length}
      value={{ ...shown, title: frames.length > 1 ? field.config.displayName : undefined }}
      sparkline={{ y: field, x: frame.fields[0] }} />;
  })}</div>;
}

function Rows({ panel, width, height }) {
  const names = panel.transformations.find((t) => t.id === 'filterFieldsByName').options.include.names;
  const rows = panel.results.flat().map(({ metric }) => metric);
  const present = names.filter((name) => rows.some((row) => row[name]));
  // wide as their texts: Grafana cuts what is too long for equal columns, and shows it on a click
  const letters = present.map((name) => Math.max(...[name, ...rows.map((row) => row[name] ?? '')]
    .map((text) => text.length + 2)));
  const letter = width / letters.reduce((a, b) => a + b);
  const frame = toDataFrame({ fields: present.map((name, i) => ({
    name, type: FieldType.string, values: rows.map((row) => row[name] ?? ''),
    config: { custom: { align: 'left', width: Math.floor(letters[i] * letter) } },
  })) });
  const [made] = applyFieldOverrides({
    data: [frame], theme, timeZone, replaceVariables: (s) => s,
    fieldConfig: { defaults: {}, overrides: [] },
  });
  return <Table data={made} width={width} height={height} />;
}

// Buckets are cumulative: the calls of a cell are the difference to the bucket below.
function cellsOf(results) {
  const buckets = results.map(({ metric, values }) => ({
    le: Number(metric.le === '+Inf' ? Infinity : metric.le),
    at: new Map(values.map(([t, v]) => [t, Number(v)])),
  })).filter(({ le }) => Number.isFinite(le)).sort((a, b) => a.le - b.le);
  const times = [...new Set(buckets.flatMap((b) => [...b.at.keys()]))].sort((a, b) => a - b);
  const cells = [];
  for (const t of times) {
    let below = 0;
    buckets.forEach((bucket, i) => {
      const here = bucket.at.get(t) ?? 0;
      if (here - below > 1e-9) {
        cells.push({ t, low: i ? buckets[i - 1].le : bucket.le / 2.5, high: bucket.le, n: here - below });
      }
      below = here;
    });
  }
  return { times, cells, step: times.length > 1 ? times[1] - times[0] : 1 };
}

function Heatmap({ panel, width, height }) {
  const { times, cells, step } = cellsOf(panel.results[0]);
  const most = Math.max(...cells.map((c) => c.n));
  const low = Math.min(...cells.map((c) => c.low)), high = Math.max(...cells.map((c) => c.high));
  const format = getValueFormat('s');
  const builder = new UPlotConfigBuilder(timeZone);
  builder.addScale({
    scaleKey: 'x', isTime: true, orientation: ScaleOrientation.Horizontal,
    direction: ScaleDirection.Right, range: () => [data.from * 1000, data.to * 1000],
  });
  builder.addScale({
    scaleKey: 'y', isTime: false, orientation: ScaleOrientation.Vertical,
    direction: ScaleDirection.Up, distribution: ScaleDistribution.Log, log: 10,
    range: () => [low, high],
  });
  builder.addAxis({ scaleKey: 'x', isTime: true, placement: AxisPlacement.Bottom, theme, timeZone });
  builder.addAxis({
    scaleKey: 'y', placement: AxisPlacement.Left, theme,
    values: (_, splits) => splits.map((v) => (v === null ? '' : formattedValueToString(format(v)))),
  });
  builder.addSeries({ scaleKey: 'y', theme, pathBuilder: () => null, show: true, pxAlign: true });
  builder.addHook('draw', (u) => {
    const context = u.ctx;
    context.save();
    context.beginPath();
    context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    context.clip();
    for (const { t, low: from, high: to, n } of cells) {
      const x = u.valToPos((t - step) * 1000, 'x', true), right = u.valToPos(t * 1000, 'x', true);
      const top = u.valToPos(to, 'y', true), bottom = u.valToPos(from, 'y', true);
      context.fillStyle = `rgba(8, 81, 156, ${0.08 + 0.92 * Math.sqrt(n / most)})`;
      context.fillRect(x, top, right - x - 1, bottom - top - 1);
    }
    context.restore();
  });
  return <UPlotChart width={width} height={height} config={builder} timeRange={timeRange}
    data={[times.map((t) => t * 1000), times.map(() => low)]} />;
}

const KINDS = { timeseries: Series, stat: Stats, table: Rows, heatmap: Heatmap };

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const style = { position: 'absolute', left: x * COLUMN + 4, top: y * ROW + 4 };
  if (panel.type === 'row') {
    return <div style={{ ...style, fontSize: 16, fontWeight: 500, padding: 6 }}>{panel.title}</div>;
  }
  const Kind = KINDS[panel.type];
  return <div style={style}>
    <PanelChrome title={panel.title} width={w * COLUMN - 8} height={h * ROW - 8}>
      {(width, height) => <Kind panel={panel} width={width} height={height} />}
    </PanelChrome>
  </div>;
}

createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}>
    <div style={{ position: 'relative' }}>
      {data.panels.map((panel) => <Panel key={panel.id} panel={panel} />)}
    </div>
  </ThemeContext.Provider>,
);
window.addEventListener('error', (e) => document.body.append(`ERROR ${e.message}`));
