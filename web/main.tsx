import { render } from 'preact'
import { App } from './shell/app.tsx'
import './styles/base.css'

const place = document.getElementById('app')
if (place !== null) render(<App />, place)
