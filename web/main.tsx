// First the styles of all: what follows them may say otherwise.
import './styles/base.css'
import './styles/panel.css'
import './styles/parts.css'
import { render } from 'preact'
import { App } from './shell/app.tsx'
import { listenForShortcuts } from './shell/keyboard.ts'

listenForShortcuts()
const place = document.getElementById('app')
if (place !== null) render(<App />, place)
