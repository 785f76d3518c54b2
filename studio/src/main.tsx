import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './shell/app.tsx';
import { listenForKeys } from './shell/keys.ts';
import { applyTheme } from './shell/theme.ts';
import { preloadViews } from './shell/views.ts';
import './style.css';

applyTheme();
listenForKeys();
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
  window.addEventListener('load', preloadViews);
}
