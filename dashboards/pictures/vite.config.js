// One page, opened from the file system: relative paths, and no module loading across files.
import react from '@vitejs/plugin-react';

export default {
  base: './',
  plugins: [react()],
  define: {'process.env.NODE_ENV': '"production"', 'process.env': '{}', global: 'globalThis'},
  build: {
    chunkSizeWarningLimit: 1e5,
    modulePreload: false,
    rollupOptions: {output: {format: 'iife', inlineDynamicImports: true}},
  },
};
