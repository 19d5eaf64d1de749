/** Small drawings beside words. They say nothing alone, so that nobody is told of them. */
const drawings = {
  overview: 'M3 12a7 7 0 1 1 14 0M10 12l3-4M3 15h14',
  services: 'M4 5h12M4 10h12M4 15h12',
  explain: 'M4 5h5a3 3 0 0 1 3 3v4a3 3 0 0 0 3 3h1M13.5 12.5 16 15l-2.5 2.5',
  syncs: 'M3 5h6M6 10h7M10 15h7',
  doctor: 'M3 10h3l2-5 4 10 2-5h3',
  rules: 'M7 5 3 10l4 5M13 5l4 5-4 5',
  nodes: 'M4 4h5v5H4zM11 11h5v5h-5zM9 6.5h4.5V11',
  demo: 'M6 4v12l10-6z',
  menu: 'M3 6h14M3 10h14M3 14h14',
  close: 'M5 5l10 10M15 5 5 15',
  search: 'M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4M13 13l4 4',
  auto: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14M10 3v14M12.5 4v12M15 6v8',
  light:
    'M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6M10 2v2M10 16v2M2 10h2M16 10h2M4.3 4.3l1.4 1.4M14.3 14.3l1.4 1.4M4.3 15.7l1.4-1.4M14.3 5.7l1.4-1.4',
  dark: 'M16 12A7 7 0 0 1 8 4a6.5 6.5 0 1 0 8 8z',
  help: 'M7.5 7.5a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.8M10 14.4v.2',
  good: 'M4 10.5l4 4 8-9',
  warning: 'M10 3.5 17.5 16h-15zM10 8.5v3.5M10 13.9v.2',
  error: 'M6.5 3h7L17 6.5v7L13.5 17h-7L3 13.5v-7zM10 6.5v4.5M10 13.4v.2',
  note: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14M10 9.5v4M10 6.6v.2',
  up: 'M10 15V5M6 9l4-4 4 4',
  down: 'M10 5v10M6 11l4 4 4-4',
} as const

export type IconName = keyof typeof drawings

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <path d={drawings[name]} />
    </svg>
  )
}
