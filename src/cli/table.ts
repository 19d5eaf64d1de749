/** Columns of text, aligned as kubectl does it: padded to the widest cell, three spaces apart. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')
  return all.map((row) => `${line(row).trimEnd()}\n`).join('')
}
